/**
 * What must not compile. `npm run check` fails where one of the expected errors is missing; run, the
 * same blueprints are refused at registration, or fail their handler.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { dispatch, finish, sleep, transition } from './action.ts';
import { type Blueprint, blueprint } from './blueprint.ts';
import { aJob, change, created } from './fixtures.ts';

function reasonOf(machine: Blueprint, input = {}): string {
  return change(aJob({ input }), created, machine).history.at(-1)?.reason ?? '';
}

test('A-3 a misspelt state in to does not compile, and is refused', () => {
  assert.throws(
    () =>
      blueprint({
        name: 'sample',
        version: 1,
        states: {
          // @ts-expect-error there is no state "dnoe"
          start: { start: true, to: ['dnoe'], handle: () => finish() },
          done: { end: true },
        },
      }),
    /state "start" leads to "dnoe"/,
  );
});

test('A-10 a misspelt state in transition does not compile, and fails the handler', () => {
  const machine = blueprint({
    name: 'sample',
    version: 1,
    states: {
      // @ts-expect-error there is no state "dnoe"
      start: { start: true, to: ['done'], handle: () => transition('dnoe') },
      done: { end: true },
    },
  });
  assert.match(reasonOf(machine), /leads to "dnoe"/);
});

test('A-10 a misspelt state in one branch of a handler does not compile', () => {
  const machine = blueprint({
    name: 'sample',
    version: 1,
    states: {
      start: {
        start: true,
        to: ['done'],
        // @ts-expect-error there is no state "dnoe"
        handle: (job) => (job.attempt > 1 ? transition('done') : transition('dnoe')),
      },
      done: { end: true },
    },
  });
  assert.match(reasonOf(machine), /leads to "dnoe"/);
});

test('A-12 a misspelt state in on does not compile, and fails the handler', () => {
  const machine = blueprint({
    name: 'sample',
    version: 1,
    states: {
      start: {
        start: true,
        to: ['done'],
        // @ts-expect-error there is no state "dnoe"
        handle: () => dispatch('echo', {}, { on: { success: 'done', failure: 'dnoe' } }),
      },
      done: { end: true },
    },
  });
  assert.match(reasonOf(machine), /leads to "dnoe"/);
});

test('A-10 a misspelt state in sleep does not compile, and fails the handler', () => {
  const machine = blueprint({
    name: 'sample',
    version: 1,
    states: {
      // @ts-expect-error there is no state "dnoe"
      start: { start: true, to: ['done'], handle: () => sleep('1s', 'dnoe') },
      done: { end: true },
    },
  });
  assert.match(reasonOf(machine), /leads to "dnoe"/);
});

test('A-4 a misspelt state in a guarded handler does not compile, and fails the handler', () => {
  const machine = blueprint({
    name: 'sample',
    version: 1,
    states: {
      start: {
        start: true,
        to: ['done'],
        handlers: [
          // @ts-expect-error there is no state "dnoe"
          { when: 'true', handle: () => transition('dnoe') },
          { handle: () => transition('done') },
        ],
      },
      done: { end: true },
    },
  });
  assert.match(reasonOf(machine), /leads to "dnoe"/);
});

test('S-1 a promise from handle does not compile, and fails the handler', () => {
  const machine = blueprint({
    name: 'sample',
    version: 1,
    states: {
      // @ts-expect-error what awaits is a run
      start: { start: true, to: ['done'], handle: async () => transition('done') },
      done: { end: true },
    },
  });
  assert.match(reasonOf(machine), /returned a promise/);
});

test('A-10 S-8 a list of actions does not compile, and fails the handler', () => {
  const machine = blueprint({
    name: 'sample',
    version: 1,
    states: {
      // @ts-expect-error exactly one action
      start: { start: true, to: ['done'], handle: () => [transition('done')] },
      done: { end: true },
    },
  });
  assert.match(reasonOf(machine), /must return exactly one action object/);
});

test('S-8 failed compiles as a target where no state has that name', () => {
  const machine = blueprint({
    name: 'sample',
    version: 1,
    states: {
      start: { start: true, to: ['done', 'failed'], handle: () => transition('failed') },
      done: { end: true },
    },
  });
  assert.equal(change(aJob(), created, machine).job.status, 'failed');
});

test('S-10 job.input has the type of the schema', () => {
  const machine = blueprint({
    name: 'sample',
    version: 1,
    input: z.object({ files: z.array(z.string()) }),
    states: {
      start: {
        start: true,
        end: true,
        handle: (job) => {
          const files: string[] = job.input.files;
          // @ts-expect-error the schema has no such member
          const missing: unknown = job.input.flies;
          return finish([files.length, missing === undefined]);
        },
      },
    },
  });
  const { job } = change(aJob({ input: { files: ['a', 'b'] } }), created, machine);
  assert.deepEqual(job.result, [2, true]);
});

test('S-10 without a schema job.input is untyped JSON', () => {
  const machine = blueprint({
    name: 'sample',
    version: 1,
    states: {
      start: {
        start: true,
        end: true,
        // @ts-expect-error JSON need not be an object
        handle: (job) => finish(job.input.files),
      },
    },
  });
  assert.deepEqual(change(aJob(), created, machine).job.result, ['a', 'b']);
});

test('S-2 job.input as a whole cannot be replaced, nor can job.data', () => {
  const machine = blueprint({
    name: 'sample',
    version: 1,
    states: {
      start: {
        start: true,
        end: true,
        handle: (job) => {
          // @ts-expect-error data is changed in place
          job.data = {};
          return finish();
        },
      },
    },
  });
  assert.match(reasonOf(machine), /only a getter/);
});
