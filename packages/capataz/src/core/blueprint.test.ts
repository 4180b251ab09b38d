import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CapatazError } from '../protocol/errors.ts';
import { dispatch, finish, transition } from './action.ts';
import { type BlueprintDefinition, blueprint, type StateDefinition } from './blueprint.ts';
import { aBlueprint, aJob } from './fixtures.ts';
import type { RetryOptions } from './retry.ts';

type States = Readonly<Record<string, StateDefinition<string, never>>>;

const done = { end: true } as const;
const go = () => transition('done');

function problemsOf(definition: Partial<BlueprintDefinition<string, never>>): readonly string[] {
  try {
    blueprint<string, never>({ name: 'sample', version: 1, states: {}, ...definition });
  } catch (error) {
    assert.ok(error instanceof CapatazError);
    assert.equal(error.code, 'BLUEPRINT_INVALID');
    assert.match(error.message, /^blueprint "/);
    return error.details?.problems as string[];
  }
  return [];
}

function stateProblems(states: States): readonly string[] {
  return problemsOf({ states });
}

test('A-1 a blueprint is declared with a name, a version, and handlers per state', () => {
  const machine = aBlueprint({
    start: { start: true, to: ['done', 'think'], handle: go },
    think: {
      to: ['done'],
      handlers: [{ when: 'context.data.n > 1', run: async () => go() }, { handle: go }],
    },
    done,
  });
  assert.deepEqual([machine.name, machine.version, machine.start], ['sample', 1, 'start']);
  assert.deepEqual([...machine.states.keys()], ['start', 'think', 'done']);
  const think = machine.states.get('think');
  assert.deepEqual(
    think?.handlers.map(({ when, slot }) => [when !== null, slot.type]),
    [
      [true, 'run'],
      [false, 'handle'],
    ],
  );
});

test('A-2 exactly one start state, any number of end states', () => {
  assert.deepEqual(
    stateProblems({ start: { start: true, to: ['done', 'over'], handle: go }, done, over: done }),
    [],
  );
  assert.match(
    stateProblems({ start: { to: ['done'], handle: go }, done }).join(),
    /exactly one state must have start: true; there is none/,
  );
  assert.match(
    stateProblems({
      one: { start: true, to: ['done'], handle: go },
      two: { start: true, to: ['done'], handle: go },
      done,
    }).join(),
    /exactly one state must have start: true; there are one, two/,
  );
  assert.match(stateProblems({}).join(), /there is none/);
});

const refused: readonly [title: string, states: States, problem: string][] = [
  [
    'an unknown target',
    { start: { start: true, to: ['done', 'dnoe'], handle: go }, done },
    'state "start" leads to "dnoe", which does not exist',
  ],
  [
    'an unreachable state',
    { start: { start: true, to: ['done'], handle: go }, done, island: done },
    'state "island" cannot be reached from the start',
  ],
  [
    'a dead end',
    { start: { start: true, to: ['done', 'stuck'], handle: go }, stuck: { handle: go }, done },
    'state "stuck" is a dead end: it has neither to nor end',
  ],
  [
    'a state without a handler that is no end',
    { start: { start: true, to: ['done'] }, done },
    'state "start": has no handler, and only an end state or a sub-state may have none',
  ],
  [
    'a fan-out without an aggregator',
    { start: { start: true, to: ['done'], fanOut: true, handle: go }, done },
    'state "start" fans out, but none of its targets has aggregate: true',
  ],
  [
    'handle and run in one',
    { start: { start: true, to: ['done'], handle: go, run: async () => go() }, done },
    'state "start": handler 1 must have exactly one of handle and run',
  ],
  [
    'a handler of its own beside handlers',
    { start: { start: true, to: ['done'], handle: go, handlers: [{ handle: go }] }, done },
    'state "start": has both handlers and a handler of its own; move it to the end of handlers',
  ],
  [
    'guarded handlers without a default',
    { start: { start: true, to: ['done'], handlers: [{ when: 'true', handle: go }] }, done },
    'state "start": the last of its handlers must be the default, without when',
  ],
  [
    'handlers behind the default',
    { start: { start: true, to: ['done'], handlers: [{ handle: go }, { handle: go }] }, done },
    'state "start": handler 1 has no when, so those behind it can never run',
  ],
  [
    'a timeout that is none',
    { start: { start: true, to: ['done'], timeout: '0s', handle: go }, done },
    'state "start": timeout must be a duration above zero like "5m", not "0s"',
  ],
  [
    'a retry target outside to',
    { start: { start: true, to: ['done'], retry: { then: 'dnoe' }, handle: go }, done },
    'state "start": retry.then "dnoe" is neither "quarantine" nor one of its to',
  ],
  [
    'a retry target of a class outside to',
    {
      start: { start: true, to: ['done'], retry: { classes: { x: { then: 'dnoe' } } }, handle: go },
      done,
    },
    'state "start": retry.then "dnoe" is neither "quarantine" nor one of its to',
  ],
];

for (const [title, states, problem] of refused) {
  test(`A-3 registration refuses ${title}, and the message names blueprint, state and target`, () => {
    assert.deepEqual(stateProblems(states), [problem]);
  });
}

test('A-3 a fan-out with an aggregator among its targets is fine', () => {
  const states: States = {
    start: { start: true, to: ['join'], fanOut: true, handle: () => finish() },
    join: { aggregate: true, to: ['done'], handle: go },
    done,
  };
  assert.deepEqual(stateProblems(states), []);
});

test('A-3 every problem is told at once', () => {
  const problems = problemsOf({ name: 'not a name', version: 0, states: { start: { to: ['x'] } } });
  assert.equal(problems.length, 5);
});

test('A-3 names that are no part of a URL and versions that are none are refused', () => {
  const states: States = { start: { start: true, end: true } };
  for (const name of ['', 'a b', 'a/b', '.hidden', 'ä', 'a'.repeat(101)]) {
    assert.match(problemsOf({ name, states }).join(), /the name must be/, name);
  }
  for (const version of [0, -1, 1.5, Number.NaN]) {
    assert.match(problemsOf({ version, states }).join(), /the version must be/, String(version));
  }
  assert.deepEqual(problemsOf({ name: 'a'.repeat(100), version: 7, states }), []);
});

test('S-8 failed is an implicit edge: it needs no declaration, no state, and no way to it', () => {
  const start: StateDefinition<string, never> = { start: true, to: ['done', 'failed'], handle: go };
  assert.deepEqual(stateProblems({ start, done }), []);
  assert.deepEqual(stateProblems({ start: { ...start, to: ['done'] }, done, failed: done }), []);
  assert.equal(aBlueprint({ start, done, failed: done }).states.get('failed')?.end, 'failed');
});

test('S-8 a state that may end the job may keep its to', () => {
  assert.deepEqual(
    stateProblems({ start: { start: true, end: true, to: ['done'], handle: go }, done }),
    [],
  );
});

test('S-28 a run has five minutes unless its state says otherwise', () => {
  const machine = aBlueprint({
    start: { start: true, to: ['done'], run: async () => go() },
    done: { end: true, to: ['start'], timeout: '1h30m', run: async () => undefined },
  });
  assert.equal(machine.states.get('start')?.timeoutMs, 300_000);
  assert.equal(machine.states.get('done')?.timeoutMs, 5_400_000);
});

const nonsensical: readonly [RetryOptions, string][] = [
  [{ base: '0s' }, 'base'],
  [{ base: '-1s' }, 'base'],
  [{ base: '1000' }, 'base'],
  [{ base: 'NaN' }, 'base'],
  [{ base: 1e12 as unknown as string }, 'base'],
  [{ base: '40000d' }, 'base'],
  [{ cap: '0s' }, 'cap'],
  [{ base: '10s', cap: '5s' }, 'cap'],
  [{ factor: 0 }, 'factor'],
  [{ factor: 0.5 }, 'factor'],
  [{ factor: Number.NaN }, 'factor'],
  [{ factor: Number.POSITIVE_INFINITY }, 'factor'],
  [{ factor: '2' as unknown as number }, 'factor'],
  [{ max: -1 }, 'max'],
  [{ max: 1.5 }, 'max'],
  [{ max: 1_001 }, 'max'],
  [{ max: Number.NaN }, 'max'],
  [{ jitter: -0.1 }, 'jitter'],
  [{ jitter: 1 }, 'jitter'],
  [{ jitter: Number.NaN }, 'jitter'],
];

for (const [retry, field] of nonsensical) {
  test(`B-091 a retry rule ${show(retry)} is refused at registration`, () => {
    const own = stateProblems({ start: { start: true, to: ['done'], retry, handle: go }, done });
    assert.equal(own.length, 1);
    assert.match(own[0] ?? '', new RegExp(`^state "start": retry\\.${field} must`));
    const { base, ...rest } = retry;
    const ofClass = { classes: { slow: base === undefined ? rest : retry } };
    const inClass = stateProblems({
      start: { start: true, to: ['done'], retry: ofClass, handle: go },
      done,
    });
    assert.match(inClass.join(), new RegExp(`retry\\.classes\\.slow\\.${field} must`));
  });
}

function show(retry: RetryOptions): string {
  return Object.entries(retry)
    .map(([field, value]) => `${field}: ${String(value)}`)
    .join(', ');
}

test('B-091 the rule that a state names is the one that its failures follow', () => {
  const retry = { max: 100, base: '1s', factor: 10, cap: '2m', jitter: 0, then: 'done' };
  const machine = aBlueprint({ start: { start: true, to: ['done'], retry, handle: go }, done });
  assert.deepEqual(machine.states.get('start')?.retry(aJob()), {
    max: 100,
    baseMs: 1_000,
    factor: 10,
    capMs: 120_000,
    jitter: 0,
    then: 'done',
  });
});

test('two blueprints share the graph text exactly when they have the same graph', () => {
  const graphOf = (to: readonly string[], names: readonly string[] = ['done', 'over']) =>
    aBlueprint({
      start: { start: true, to, handle: () => dispatch('echo', {}, { on: { success: 'done' } }) },
      ...Object.fromEntries(names.map((name) => [name, done])),
    }).graph;
  assert.equal(graphOf(['done', 'over']), graphOf(['over', 'done'], ['over', 'done']));
  assert.notEqual(graphOf(['done', 'over']), graphOf(['done', 'over', 'start']));
  const base: States = { start: { start: true, to: ['done'], handle: go }, done };
  const other: States = { start: { start: true, to: ['done'], run: async () => go() }, done };
  assert.notEqual(aBlueprint(base).graph, aBlueprint(other).graph);
});

test('A-3 a graph is accepted exactly when every edge leads somewhere and every state is reached', () => {
  const names = ['a', 'b', 'c', 'd'];
  fc.assert(
    fc.property(
      fc.array(fc.uniqueArray(fc.constantFrom(...names, 'nowhere')), {
        minLength: 4,
        maxLength: 4,
      }),
      (edges) => {
        const states = Object.fromEntries(
          names.map((name, index) => [
            name,
            {
              ...(index === 0 ? { start: true as const } : {}),
              end: true as const,
              to: edges[index] ?? [],
            },
          ]),
        );
        const reached = new Set(['a']);
        for (const name of reached) for (const to of states[name]?.to ?? []) reached.add(to);
        const isSound =
          edges.every((to) => !to.includes('nowhere')) && names.every((name) => reached.has(name));
        assert.equal(stateProblems(states).length === 0, isSound);
      },
    ),
  );
});

test('A-3 a misspelt member is refused with the one that was meant', () => {
  const misspelt = () =>
    blueprint({
      name: 'misspelt',
      version: 1,
      states: { a: { start: true, end: true, retires: { max: 1 } } },
    } as unknown as Parameters<typeof blueprint>[0]);
  assert.throws(
    misspelt,
    /state "a": "retires" is not known here; did you mean "retry"\?|state "a": "retires" is not known here/,
  );
  const named = () =>
    blueprint({ name: 'q', version: 1, states: { quarantine: { start: true, end: true } } });
  assert.throws(named, /state "quarantine": has the name that retry\.then gives to quarantine/);
});
