/** Arrays as the server reads them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bigint, boolean, double, text } from './columns.ts';
import { Schemas } from './fixtures/schemas.ts';

const schemas = Schemas.ofThisFile();

async function read(type: string, array: unknown): Promise<unknown> {
  const { rows } = await schemas.pool.query(`SELECT to_json($1::${type}[]) AS found`, [array]);
  return rows[0]?.found;
}

test('texts of every kind and length arrive as they are', async () => {
  const texts = ['', 'a', '"{},\\', 'ñandú', '😀', 'NULL', null, 'x'.repeat(200_000), '\n\t'];
  assert.deepEqual(await read('text', text(texts)), texts);
  // The room in which it was put together is used again.
  assert.deepEqual(await read('text', text(['short'])), ['short']);
});

test('numbers below 2^53 arrive, of either sign', async () => {
  const numbers = [0, 1, -1, 2 ** 31, -(2 ** 31) - 1, 2 ** 32, 2 ** 53 - 1, -(2 ** 53) + 1, null];
  assert.deepEqual(await read('bigint', bigint(numbers)), numbers);
  assert.deepEqual(await read('double precision', double([0.1, -2.5, null])), [0.1, -2.5, null]);
  assert.deepEqual(await read('boolean', boolean([true, false])), [true, false]);
});

test('no values are an empty array', async () => {
  assert.deepEqual(await read('text', text([])), []);
  assert.deepEqual(await read('bigint', bigint([])), []);
});
