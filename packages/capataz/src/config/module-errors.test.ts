import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { moduleProblem } from './module-errors.ts';

const folder = mkdtempSync(join(tmpdir(), 'capataz-module-errors-'));
after(() => rmSync(folder, { recursive: true, force: true }));

for (const [name, type] of [
  ['cjs', 'commonjs'],
  ['esm', 'module'],
] as const) {
  mkdirSync(join(folder, name));
  writeFileSync(join(folder, name, 'package.json'), JSON.stringify({ type }));
}

async function problemOf(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  writeFileSync(path, text);
  try {
    await import(pathToFileURL(path).href);
  } catch (error) {
    return moduleProblem(path, error).replaceAll(folder, '');
  }
  return assert.fail(`${name} loads`);
}

test('a module that is read as CommonJS is told how to become one with imports', async () => {
  for (const [name, other] of [
    ['cjs/imports.ts', '.mts'],
    ['cjs/exports.js', '.mjs'],
  ] as const) {
    const text = name.includes('imports') ? "import 'node:fs';" : 'export const a = 1;';
    assert.equal(
      await problemOf(name, text),
      `/${name}: is loaded as CommonJS, which has no import and export: set "type": "module" in /cjs/package.json, or name the file ${other}`,
    );
  }
  const named = await problemOf('esm/named.cjs', 'export const a = 1;');
  assert.match(named, /no import and export: name the file \.mjs$/);
});

test('a syntax error is shown with file, line and the line itself', async () => {
  const ts = await problemOf('esm/syntax.ts', 'const a: number = 1;\nconst b = = 2;\n');
  assert.equal(ts, '/esm/syntax.ts: Expression expected\n  at /esm/syntax.ts:2: const b = = 2;');
  const js = await problemOf('esm/syntax.js', 'const a = 1;\n  const b = = 2;\n');
  assert.equal(js, "/esm/syntax.js: Unexpected token '='\n  at /esm/syntax.js:2: const b = = 2;");
});

test('what a module throws at its top is shown where it was thrown, in a helper too', async () => {
  writeFileSync(
    join(folder, 'esm/helper.ts'),
    '\nexport function boom(): never {\n  throw new TypeError("boom");\n}\n',
  );
  const text = "import { boom } from './helper.ts';\nboom();\n";
  assert.equal(
    await problemOf('esm/throws.ts', text),
    '/esm/throws.ts: boom\n  at /esm/helper.ts:3: throw new TypeError("boom");',
  );
  assert.equal(await problemOf('esm/text.ts', 'throw "no error";'), '/esm/text.ts: threw no error');
});
