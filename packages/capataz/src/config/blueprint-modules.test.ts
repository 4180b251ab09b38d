import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { CapatazError } from '../protocol/errors.ts';
import { loadBlueprints } from './blueprint-modules.ts';

/** A user's folder, where the package is installed: the modules import it by name. */
const folder = mkdtempSync(join(tmpdir(), 'capataz-modules-'));
mkdirSync(join(folder, 'node_modules'));
symlinkSync(fileURLToPath(new URL('../..', import.meta.url)), join(folder, 'node_modules/capataz'));
after(() => rmSync(folder, { recursive: true, force: true }));

function source(name: string): string {
  return `blueprint({ name: '${name}', version: 1, states: { only: { start: true, end: true } } })`;
}

function folderWith(name: string, files: Readonly<Record<string, string>>): string {
  const path = join(folder, name);
  mkdirSync(path);
  for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text);
  return path;
}

const importLine = "import { blueprint } from 'capataz';\n";

test('A-6: every module of a folder is loaded, one blueprint or a list of them', async () => {
  const path = folderWith('good', {
    'one.ts': `${importLine}export default ${source('one')};`,
    'more.mjs': `${importLine}export default [${source('two')}, ${source('three')}];`,
    'four.mts': `${importLine}export default ${source('four')};`,
    'five.cts': `const { blueprint } = require('capataz');\nmodule.exports = ${source('five')};`,
    'one.test.ts': 'throw new Error("a test is no blueprint module");',
    'notes.md': 'not a module',
  });
  mkdirSync(join(path, 'helpers'));
  const names = (await loadBlueprints(path)).map(({ name }) => name);
  assert.deepEqual(names.sort(), ['five', 'four', 'one', 'three', 'two']);
});

test('A-6: one bad module stops the start, and every bad one is named', async () => {
  const path = folderWith('bad', {
    'good.ts': `${importLine}export default ${source('good')};`,
    'empty.ts': 'export const nothing = 1;',
    'broken.js': 'throw new Error("boom");',
    'wrong.ts': 'export default { name: "x" };',
    'invalid.ts': `${importLine}export default blueprint({ name: 'i', version: 1, states: { a: { start: true } } });`,
  });
  await assert.rejects(loadBlueprints(path), (error: CapatazError) => {
    assert.equal(error.code, 'BLUEPRINT_INVALID');
    const lines = error.message.split('\n');
    assert.equal(lines.length, 5);
    assert.match(lines[0] ?? '', /broken\.js: boom/);
    assert.match(lines[1] ?? '', /^ {2}at .*broken\.js:1: throw new Error\("boom"\);/);
    assert.match(lines[2] ?? '', /empty\.ts: has no default export/);
    assert.match(lines[3] ?? '', /invalid\.ts: .*dead end/);
    assert.match(lines[4] ?? '', /wrong\.ts: its default export is neither/);
    return true;
  });
});
