import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkProblems, faultOf } from './check.ts';
import { commandFault } from './command.ts';

const schema = {
  type: 'object',
  required: ['total'],
  properties: { total: { type: 'number' } },
};
const never = new AbortController().signal;
const node = process.execPath;

test('W-n: an answer must not be empty, and fit the schema and the pattern that are asked for', () => {
  assert.equal(faultOf(' \n', {}), 'the answer is empty');
  assert.equal(faultOf('anything', {}), null);
  assert.equal(faultOf('{"total": 7}', { schema }), null);
  assert.equal(faultOf('```json\n{"total": 7}\n```', { schema }), null);
  assert.equal(faultOf('seven', { schema }), 'the answer is no JSON');
  assert.match(
    faultOf('{"total": "7"}', { schema }) ?? '',
    /does not fit the schema: answer\/total must be number/,
  );
  assert.equal(faultOf('OK 1', { pattern: '^OK' }), null);
  assert.equal(faultOf('KO', { pattern: '^OK' }), 'the answer does not match /^OK/');
});

test('W-n: a pattern that takes for ever on an answer is given up', () => {
  const fault = faultOf(`${'a'.repeat(40)}!`, { pattern: '^(a+)+$' });
  assert.match(fault ?? '', /could not be checked with .* within 1000 ms/);
});

test('W-n: a schema that takes for ever, or refers to itself for ever, is given up; its complaints have an end', () => {
  const wild = { type: 'string', pattern: '^(a+)+$' };
  const slow = faultOf(JSON.stringify(`${'a'.repeat(40)}!`), { schema: wild });
  assert.match(slow ?? '', /could not be checked with the schema within 1000 ms/);
  const endless = faultOf('1', { schema: { $ref: '#' } });
  assert.match(endless ?? '', /could not be checked with the schema \(Maximum call stack/);
  const many = faultOf(JSON.stringify(Array(10_000).fill(1)), {
    schema: { items: { type: 'string' } },
  });
  assert.equal(many?.length, 2_000);
  const [elsewhere] = checkProblems({ schema: { $ref: 'https://example.com/a.json' } });
  assert.match(elsewhere ?? '', /^check\.schema: can't resolve reference/);
});

test('W-n: a check that is none is told with its field', () => {
  assert.deepEqual(checkProblems({ schema, pattern: 'ok' }), []);
  const [ofSchema, ofPattern] = checkProblems({ schema: { type: 'nothing' }, pattern: '(' });
  assert.match(ofSchema ?? '', /^check\.schema: /);
  assert.match(ofPattern ?? '', /^check\.pattern: Invalid regular expression/);
});

test('W-n: a command reads the answer and judges it by its exit code, within its time', async () => {
  const judge = (script: string, timeoutMs = 30_000) =>
    commandFault('good', { words: [node, '-e', script], timeoutMs }, never);
  const reads = 'process.stdin.on("data", (text) => process.exit(String(text) === "good" ? 0 : 1))';
  assert.equal(await judge(reads), null);
  assert.match(
    (await judge('console.error("too short"); process.exit(3)')) ?? '',
    /says: too short$/,
  );
  assert.match((await judge('setInterval(() => {}, 1000)', 300)) ?? '', /took longer than 300 ms/);
  const leaver =
    'require("child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "inherit" })';
  assert.match(
    (await judge(`${leaver}; setTimeout(() => process.exit(3), 100)`)) ?? '',
    /says: code 3$/,
  );
  const endless = await judge(
    'process.stdout.write("x".repeat(5e6) + "\\0", () => process.exit(1))',
  );
  assert.match(endless ?? '', /says: x{1999}$/);
  const missing = await commandFault(
    'good',
    { words: ['/no/such/program'], timeoutMs: 1_000 },
    never,
  );
  assert.match(missing ?? '', /could not be run: .*ENOENT/);
});
