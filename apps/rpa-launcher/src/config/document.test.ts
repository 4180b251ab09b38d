/** The page about the launcher's variables says what the program does. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { alertKinds } from '../alerts/contract.ts';
import { variables } from './settings.ts';
import type { Variable } from './variable.ts';

const page = readFileSync(new URL('../../../../docs/rpa-launcher.md', import.meta.url), 'utf8');

test('L-53: the page lists every variable with its names, its default and what it does', () => {
  const rows = Object.values<Variable>(variables).map((variable) => {
    const names = [variable.name, ...(variable.otherNames ?? [])].map((name) => `\`${name}\``);
    const choices = variable.choices === undefined ? '' : ` One of ${variable.choices.join(', ')}.`;
    const fallback = variable.default === null ? '' : `\`${variable.default}\``;
    return `| ${names.join(', ')} | ${variable.type} | ${fallback} | ${variable.meaning}${choices} |`;
  });
  const table = ['| variable | is | default | meaning |', '| --- | --- | --- | --- |', ...rows];
  const [, listed = ''] = /<!-- variables -->\n([\s\S]*?)<!-- \/variables -->/.exec(page) ?? [];
  assert.equal(listed, `${table.join('\n')}\n`);
});

test('the page lists every kind of alert', () => {
  const missing = alertKinds.filter((kind) => kind !== 'critical' && !page.includes(`\`${kind}\``));
  assert.deepEqual(missing, []);
});
