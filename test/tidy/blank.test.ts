import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blank } from './blank.ts';

test('comments and the contents of strings are blanked, offsets stay', () => {
  const text = "const a = 'x // y'; // any\n/* any */ const b = \"it's\";";
  const { code, uncommented } = blank(text);
  assert.equal(code, 'const a = \'      \';       \n          const b = "    ";');
  assert.equal(uncommented, "const a = 'x // y';       \n          const b = \"it's\";");
});

test('expressions inside templates stay code, nested templates and braces included', () => {
  const { code } = blank('f(`any @{g({ k: `any @{h}` })} any`, i)'.replaceAll('@', '$'));
  assert.equal(code, 'f(`     {g({ k: `     {h}` })}    `, i)');
});

test('a regular expression is told from a division', () => {
  const { code } = blank("const r = /[/'\"]any/; const q = a / b / c; x.replace(/'/g, any)");
  assert.equal(code, 'const r = /        /; const q = a / b / c; x.replace(/ /g, any)');
});
