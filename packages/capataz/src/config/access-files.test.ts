import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { CapatazError } from '../protocol/errors.ts';
import { readClients, readWorkers } from './access-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'capataz-access-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function fileWith(text: string): string {
  const path = join(folder, 'entries.toml');
  writeFileSync(path, text);
  return path;
}

function problemsOf(read: (file: string) => unknown, text: string): string[] {
  const file = fileWith(text);
  let lines: string[] = [];
  assert.throws(
    () => read(file),
    (error: CapatazError) => {
      assert.equal(error.code, 'CONFIG_INVALID');
      lines = error.message.split('\n').map((line) => line.replace(`${file}: `, ''));
      return true;
    },
  );
  return lines;
}

test('clients have a token, a plan and parameters', () => {
  writeFileSync(join(folder, 'beta.token'), 'from-a-file\n');
  const clients = readClients(
    fileWith(`
[acme]
token = "t1"
plan = "premium"
params = { seats = 3, languages = ["es"] }

[beta]
token_file = "beta.token"
`),
  );
  assert.deepEqual(clients, [
    { name: 'acme', token: 't1', plan: 'premium', params: { seats: 3, languages: ['es'] } },
    { name: 'beta', token: 'from-a-file' },
  ]);
});

test('A-54: what is wrong in clients.toml is named by file, entry and field, all at once', () => {
  const problems = problemsOf(
    readClients,
    `
loose = 1
[acme]
tokn = "t"
plan = 3
monthly_attempts = 100
[beta]
token = "same"
[gamma]
token = "same"
params = "x"
`,
  );
  assert.deepEqual(problems, [
    'loose: must be a table ([loose]), not a number',
    '[acme] tokn: is unknown here; did you mean token?',
    '[acme] monthly_attempts: quotas are not enforced by this version; take it out',
    '[acme] plan: must be a string, not a number',
    '[acme] token: is missing',
    '[gamma] params: must be a table, not a string',
    '[gamma] token: is the same as that of [beta]',
  ]);
});

test('A-48: workers are named by id or by a pattern', () => {
  const workers = readWorkers(
    fileWith(`
[scanner-1]
token = "a"
description = "in the basement"

["pattern:gpu-*"]
token = "b"
`),
  );
  assert.deepEqual(workers, [
    { id: 'scanner-1', token: 'a' },
    { pattern: 'gpu-*', token: 'b' },
  ]);
});

test('A-54: what is wrong in workers.toml is named by file, entry and field', () => {
  const problems = problemsOf(readWorkers, '["a b"]\ntoken = 7\nskill = "x"\n');
  assert.deepEqual(problems, [
    '[a b] skill: is unknown here',
    '[a b]: a worker id is made of letters, digits, "_" and "-"',
    '[a b] token: must be a string that is not empty',
  ]);
});

test('A-54: tokens that no header carries and patterns that are none are refused', () => {
  assert.deepEqual(problemsOf(readClients, '[a]\ntoken = " spaced "\n[b]\ntoken = "señor"'), [
    '[a] token: must be printable ASCII without blanks at its ends',
    '[b] token: must be printable ASCII without blanks at its ends',
  ]);
  const [problem] = problemsOf(readWorkers, '["pattern:gpu-[z-a]"]\ntoken = "t"');
  assert.match(problem ?? '', /pattern "gpu-\[z-a\]" has a range that goes backwards/);
  assert.equal(readWorkers(fileWith('["pattern:gpu-[a-c]*"]\ntoken = "t"')).length, 1);
});
