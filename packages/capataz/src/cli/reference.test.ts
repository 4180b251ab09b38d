import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { processContext } from './context.ts';
import { exitCodeHelp } from './exit.ts';
import { createProgram } from './program.ts';
import { commandRows, settingRows } from './reference.ts';

const reference = readFileSync(
  new URL('../../../../docs/reference/cli.md', import.meta.url),
  'utf8',
);

test('the reference names every command, setting and exit code', () => {
  const rows = [...commandRows(createProgram(processContext())), ...settingRows()];
  const missing = rows.filter((row) => !reference.includes(`${row}\n`));
  assert.equal(missing.join('\n'), '', 'docs/reference/cli.md lacks these rows');
  const codes = exitCodeHelp.trim().split('\n').slice(1);
  for (const line of codes) {
    const [, code, meaning] = line.match(/^ {2}(\d) {2}(.*)$/) ?? [];
    assert.ok(reference.includes(`| ${code} | ${meaning} |\n`), line);
  }
});
