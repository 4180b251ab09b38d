import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finish } from './action.ts';
import { aBlueprint, aContext, aJob, change, created, deepFrozen } from './fixtures.ts';
import { compileGuard, type GuardContext } from './guard.ts';

const context: GuardContext = deepFrozen({
  input: { n: 3, half: 1.5, kind: 'big', tags: ['a', 'b'], nothing: null, urgent: true },
  data: { count: 5, seen: ['x'] },
  client: { name: 'client-1', plan: 'premium', params: { languages: ['en', 'de'] } },
});

function judge(text: string): boolean | string {
  const { holds, problem } = compileGuard(text)(context);
  return problem ?? holds;
}

const holding = [
  'context.input.n == 3',
  'context.input.n != 4',
  'context.input.n > 2 && context.input.n < 4',
  'context.input.n >= 3 && context.input.n <= 3',
  'context.input.half == 1.5',
  "context.input.kind == 'big'",
  "context.client.plan == 'premium' || context.input.n == 0",
  "!(context.client.plan == 'basic')",
  "'a' in context.input.tags",
  "context.input.kind in ['big', 'huge']",
  "!('c' in context.input.tags)",
  'context.input.urgent',
  'context.input.nothing == null',
  'context.data.count == 5',
  "'de' in context.client.params.languages",
];

for (const text of holding) {
  test(`A-4 S-16 ${text}`, () => {
    assert.equal(judge(text), true);
    assert.equal(judge(`!(${text})`), false);
  });
}

test('S-16 initial_data and state_history are other names of input and data', () => {
  assert.equal(judge('context.initial_data.n == 3 && context.state_history.count == 5'), true);
  assert.equal(judge('context.initial_data == context.input'), true);
  assert.equal(judge('context.state_history == context.data'), true);
});

test('S-16 has() asks for presence', () => {
  assert.equal(judge('has(context.input.n)'), true);
  assert.equal(judge('has(context.input.missing)'), false);
  assert.equal(judge('has(context.input.missing) && context.input.missing > 1'), false);
});

const failing: readonly [text: string, problem: RegExp][] = [
  ['context.input.missing == 1', /"context\.input\.missing == 1": No such key: missing/],
  ['context.input.toString == 1', /No such key: toString/],
  ["context.input.n > 'text'", /no such overload/],
  ['context.input.n', /is number, not true or false/],
  ['context.input.kind', /is string, not true or false/],
];

for (const [text, problem] of failing) {
  test(`S-16 A-4 ${text} fails: it is false and says why`, () => {
    const result = compileGuard(text)(context);
    assert.equal(result.holds, false);
    assert.match(result.problem ?? '', problem);
  });
}

test('S-16 a text that is no expression over context is refused at registration', () => {
  for (const when of ['context.input. ==', 'job.input.n == 1', '']) {
    assert.throws(
      () =>
        aBlueprint({
          start: {
            start: true,
            end: true,
            handlers: [{ when, handle: () => finish() }, { handle: () => finish() }],
          },
        }),
      /state "start": when ".*" is no CEL expression/,
    );
  }
});

function chosen(whens: readonly string[], input: Record<string, number>) {
  const handlers = [
    ...whens.map((when, index) => ({ when, handle: () => finish(index) })),
    { handle: () => finish('default') },
  ];
  const machine = aBlueprint({ start: { start: true, end: true, handlers } });
  return change(aJob({ input }), created, machine, aContext());
}

test('A-4 the first handler whose condition holds wins, else the default', () => {
  const whens = ['context.input.n > 10', 'context.input.n > 5', 'context.input.n > 1'];
  assert.deepEqual(
    [20, 7, 2, 0].map((n) => chosen(whens, { n }).job.result),
    [0, 1, 2, 'default'],
  );
});

test('A-4 S-16 a condition that fails is recorded, and the next one is tried', () => {
  const { job, history } = chosen(['context.input.m > 1', 'context.input.n > 1'], { n: 2 });
  assert.equal(job.result, 1);
  const notes = history.filter(({ type }) => type === 'guard_failed');
  assert.equal(notes.length, 1);
  assert.equal(notes[0]?.state, 'start');
  assert.match(notes[0]?.reason ?? '', /No such key: m/);
});

test('A-4 a condition sees the client of the job', () => {
  assert.equal(chosen(["context.client.plan == 'premium'"], {}).job.result, 0);
  assert.equal(chosen(["context.client.plan == 'basic'"], {}).job.result, 'default');
});
