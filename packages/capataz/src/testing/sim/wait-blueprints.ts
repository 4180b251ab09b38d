import { dispatch, finish, retry, sleep, transition } from '../../core/action.ts';
import { type Blueprint, blueprint } from '../../core/blueprint.ts';
import { emit } from '../../core/emit.ts';
import type { Job } from '../../core/job.ts';
import { holding } from '../../core/share-actions.ts';
import { approval, child, parallel, stay, waitFor } from '../../core/wait-actions.ts';
import type { JsonObject } from '../../std/json.ts';
import { simExchange } from './bus.ts';
import type { Moods } from './moods.ts';

/** One of each way to wait. */
export function waitBlueprints(moods: Moods): Blueprint[] {
  const waits = [fanOut(), asking(), family(), grandchild(), listener(), keyed()];
  return [...waits, stepper(moods)];
}

export const waitBlueprintNames = ['fan-out', 'asking', 'family', 'listener', 'keyed', 'stepper'];

/** Nobody ever speaks to some of them: there the deadlines have the last word. */
export function isForgotten({ input }: Pick<Job, 'input'>): boolean {
  return Number((input as JsonObject).number) % 4 === 3;
}

/** Zero to five branches; the aggregator says what it saw. */
function fanOut(): Blueprint {
  return blueprint({
    name: 'fan-out',
    version: 1,
    states: {
      split: {
        start: true,
        to: ['merge', 'stopped'],
        handle: (job) => {
          const count = Number((job.input as JsonObject).number) % 6;
          const branches = Array.from({ length: count }, (_, index) =>
            dispatch(
              index === 4 ? 'poison' : 'work',
              { job: job.id, step: index },
              {
                on: { success: 'merge', ...(index === 3 ? { timeout: 'stopped' as const } : {}) },
                executionLimit: '60s',
                retry: { max: 3, base: '500ms' },
              },
            ),
          );
          return parallel(branches, { to: 'merge' });
        },
      },
      merge: {
        aggregate: true,
        to: ['done'],
        run: async (job) => {
          job.data.merged = Object.keys(job.results ?? {}).length;
          job.data.merges = Number(job.data.merges ?? 0) + 1;
          return transition('done');
        },
      },
      stopped: { end: true },
      done: { end: true },
    },
  });
}

function asking(): Blueprint {
  return blueprint({
    name: 'asking',
    version: 1,
    states: {
      ask: {
        start: true,
        to: ['work', 'declined', 'again'],
        handle: (job) => {
          job.emit(simExchange, 'asked', { round: job.data.round ?? 0 });
          return approval({
            message: 'shall it be done?',
            show: { job: job.id, round: job.data.round ?? 0 },
            on: { approved: 'work', rejected: 'declined', timeout: 'again' },
            signals: { withdraw: 'declined' },
            deadline: '30s',
            // Due at the same instant as the deadline, which must not meet the next round's wait.
            escalateAfter: '30s',
          });
        },
      },
      again: {
        to: ['ask', 'declined'],
        handle: (job) => {
          job.data.round = Number(job.data.round ?? 0) + 1;
          return transition(Number(job.data.round) > 3 ? 'declined' : 'ask');
        },
      },
      work: {
        to: ['done'],
        handle: (job) => {
          job.data.approvedBy = (job.answer?.data as JsonObject | undefined)?.approver ?? null;
          return dispatch('work', { job: job.id, step: 1 }, { on: { success: 'done' } });
        },
      },
      declined: { end: true, handle: () => finish('declined') },
      done: { end: true },
    },
  });
}

/** A parent, a child and a grandchild. */
function family(): Blueprint {
  return blueprint({
    name: 'family',
    version: 1,
    states: {
      begin: {
        start: true,
        to: ['done', 'orphaned', 'late'],
        handle: (job) => {
          const depth = Number((job.input as JsonObject).depth ?? 0);
          const name = depth === 0 ? 'family' : 'grandchild';
          return child(
            name,
            { depth: depth + 1 },
            {
              on: { success: 'done', failure: 'orphaned', timeout: 'late' },
              deadline: depth === 0 ? '120s' : '90s',
            },
          );
        },
      },
      late: { end: true, handle: () => finish('late') },
      orphaned: { end: true, handle: (job) => finish(job.answer?.name ?? null) },
      done: { end: true },
    },
  });
}

function grandchild(): Blueprint {
  return blueprint({
    name: 'grandchild',
    version: 1,
    states: {
      work: {
        start: true,
        to: ['rest', 'failed'],
        handle: (job) =>
          dispatch(
            'work',
            { job: job.id, step: 1 },
            { on: { success: 'rest' }, retry: { max: 2, base: '1s' } },
          ),
      },
      rest: { to: ['done'], handle: () => sleep('45s', 'done') },
      failed: { end: 'failed' },
      done: { end: true },
    },
  });
}

/** Counts what it hears; the sub-state takes what its parent takes. */
function listener(): Blueprint {
  return blueprint({
    name: 'listener',
    version: 1,
    // Longer than any step of the clock.
    early: { tick: '30d', stop: '30d' },
    states: {
      settle: { start: true, to: ['listen'], handle: () => sleep('3s', 'listen') },
      listen: {
        to: ['done', 'silent', 'asking'],
        on: {
          tick: stay((data, { data: heard }) => {
            data.heard = [...((data.heard as string[] | undefined) ?? []), String(heard)];
          }),
          stop: 'done',
        },
        handle: (job) =>
          holding(
            waitFor({
              on: { silence: 'silent', timeout: 'done' },
              silence: { after: '40s' },
              poll: { every: '15s', enter: 'asking', emit: emit(simExchange, 'still-there', null) },
              deadline: '10m',
            }),
            { keys: [`listener-${job.id}`] },
          ),
      },
      asking: { parent: 'listen' },
      silent: { end: true, handle: () => finish('silent') },
      done: { end: true },
    },
  });
}

/** At most two of them at work at once. */
function keyed(): Blueprint {
  return blueprint({
    name: 'keyed',
    version: 1,
    concurrency: () => ({ key: 'two', limit: 2, onBusy: 'queue' }),
    states: {
      work: {
        start: true,
        to: ['done'],
        handle: (job) =>
          dispatch(
            'work',
            { job: job.id, step: 1 },
            { on: { success: 'done' }, concurrencyKey: { key: 'one', limit: 1 } },
          ),
      },
      done: { end: true },
    },
  });
}

/** A remembered step, run at least twice. */
function stepper(moods: Moods): Blueprint {
  return blueprint({
    name: 'stepper',
    version: 1,
    states: {
      work: {
        start: true,
        to: ['done'],
        timeout: '30s',
        retry: { max: 30, base: '500ms', cap: '5s' },
        run: async (job) => {
          const first = await job.step('first', () => moods.dice.between(1, 1e9));
          if (moods.dice.chance(moods.throws)) throw new Error('a bad mood');
          if (job.data.first === undefined) {
            job.data.first = first;
            return retry({ reason: 'once more', after: '1s' });
          }
          if (moods.dice.chance(moods.hangs)) await moods.wait(3_600_000);
          job.data.isSame = job.data.first === first;
          return transition('done');
        },
      },
      done: { end: true },
    },
  });
}
