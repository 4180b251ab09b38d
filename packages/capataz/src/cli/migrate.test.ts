import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Schemas } from '../store/postgres/fixtures/schemas.ts';
import { folderWith, runIn } from './fixtures/context.ts';

const schemas = Schemas.ofThisFile();

test('migrate says what is pending on SQLite without making it, then makes it once', async () => {
  const folder = folderWith();
  const dry = await runIn(folder, ['migrate', '--dry-run', '--sql']);
  assert.match(
    dry.stdout,
    /^pending {2}0001-tables\.sql \(breaking: .*\)\n[\s\S]*\n-- 0001-tables\.sql\n/,
  );
  assert.match(dry.stdout, /CREATE TABLE jobs \(/);
  assert.ok(!existsSync(join(folder, '.capataz')));
  const made = await runIn(folder, ['migrate']);
  assert.match(made.stdout, /^applied {2}0001-tables\.sql/, made.stderr);
  const again = await runIn(folder, ['migrate']);
  assert.match(again.stdout, /\.capataz is up to date\n$/);
  const json = JSON.parse((await runIn(folder, ['migrate', '--dry-run', '--json'])).stdout);
  assert.partialDeepStrictEqual(json, { dry_run: true, migrations: [] });
});

test('migrate says what is pending on PostgreSQL without making it, then makes it once', async () => {
  const folder = folderWith();
  const schema = schemas.newName();
  const flags = ['--store-url', `${schemas.url}?schema=${schema}`];
  const there = async (): Promise<boolean> =>
    (await schemas.pool.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]))
      .rowCount === 1;
  const dry = await runIn(folder, ['migrate', '--dry-run', ...flags]);
  assert.match(dry.stdout, /^pending {2}0001-tables\.sql/, dry.stderr);
  assert.equal(await there(), false);
  const made = await runIn(folder, ['migrate', ...flags]);
  assert.match(made.stdout, /^applied {2}0001-tables\.sql/, made.stderr);
  assert.equal(await there(), true);
  const again = await runIn(folder, ['migrate', ...flags]);
  assert.match(again.stdout, new RegExp(`schema=${schema} is up to date\\n$`));
  await schemas.drop(schema);
});
