import { dispatch, fail, finish, retry, sleep, transition } from '../../core/action.ts';
import { type Blueprint, blueprint } from '../../core/blueprint.ts';
import type { JsonValue } from '../../std/json.ts';
import { busBlueprintNames, busBlueprints } from './bus-blueprints.ts';
import { randomBlueprint } from './grammar.ts';
import type { Moods } from './moods.ts';
import { waitBlueprintNames, waitBlueprints } from './wait-blueprints.ts';

/** One of each way through the engine. Every handler is deterministic but for its mood. */
export function simBlueprints(
  moods: Moods,
  grammar: Readonly<Record<string, number>>,
): Blueprint[] {
  const random = Object.entries(grammar).map(([name, seed]) => randomBlueprint(name, seed, moods));
  const plain = [oneStep(), threeSteps(moods), sleeper(), runner(moods), picky()];
  return [...plain, ...waitBlueprints(moods), ...busBlueprints(moods), ...random];
}

/** The names of those that don't come from the grammar. */
export const fixedBlueprints = [
  'one-step',
  'three-steps',
  'sleeper',
  'runner',
  'picky',
  ...waitBlueprintNames,
  ...busBlueprintNames,
];

function oneStep(): Blueprint {
  return blueprint({
    name: 'one-step',
    version: 1,
    states: {
      begin: {
        start: true,
        to: ['done', 'late'],
        handle: (job) =>
          dispatch(
            'work',
            { job: job.id, step: 1 },
            { on: { success: 'done', timeout: 'late' }, resultTimeout: '10m' },
          ),
      },
      late: { end: 'failed' },
      done: { end: true },
    },
  });
}

function threeSteps(moods: Moods): Blueprint {
  return blueprint({
    name: 'three-steps',
    version: 1,
    states: {
      first: {
        start: true,
        to: ['second'],
        handle: (job) => dispatch('work', { job: job.id, step: 1 }, { on: { success: 'second' } }),
      },
      second: {
        to: ['third'],
        handle: (job) => {
          if (moods.dice.chance(moods.throws)) throw new Error('a bad mood');
          job.data.second = job.attempt;
          return dispatch(
            'work',
            { job: job.id, step: 2 },
            { on: { success: 'third' }, priority: 5 },
          );
        },
      },
      third: {
        to: ['done'],
        handle: (job) =>
          dispatch(
            'poison',
            { job: job.id, step: 3 },
            { on: { success: 'done' }, retry: { max: 2, base: '1s' } },
          ),
      },
      done: { end: true },
    },
  });
}

function sleeper(): Blueprint {
  return blueprint({
    name: 'sleeper',
    version: 1,
    states: {
      nap: { start: true, to: ['work'], handle: () => sleep('20s', 'work') },
      work: {
        to: ['done', 'nobody'],
        handle: (job) =>
          dispatch(
            'rare',
            { job: job.id, step: 1 },
            { on: { success: 'done', timeout: 'nobody' }, delay: '5s', dispatchTimeout: '90s' },
          ),
      },
      nobody: { end: true, to: [], handle: () => finish('nobody came') },
      done: { end: true },
    },
  });
}

function runner(moods: Moods): Blueprint {
  return blueprint({
    name: 'runner',
    version: 1,
    states: {
      think: {
        start: true,
        to: ['work', 'done'],
        timeout: '30s',
        retry: { max: 20, base: '1s', cap: '10s' },
        run: async (job) => {
          const { dice, wait } = moods;
          await wait(dice.between(1, 3_000));
          if (dice.chance(moods.throws)) throw new Error('a bad mood');
          if (dice.chance(moods.throws)) return retry({ reason: 'not yet', after: '2s' });
          if (dice.chance(moods.hangs)) await wait(3_600_000);
          job.data.thought = true;
          return transition('work');
        },
      },
      work: {
        to: ['done'],
        handle: (job) => dispatch('work', { job: job.id, step: 1 }, { on: { success: 'done' } }),
      },
      done: { end: true, run: async (job) => finish({ thought: job.data.thought === true }) },
    },
  });
}

function numberOf(input: JsonValue): number {
  return Number((input as { readonly number?: number }).number);
}

function picky(): Blueprint {
  return blueprint({
    name: 'picky',
    version: 1,
    states: {
      choose: {
        start: true,
        to: ['work', 'refused'],
        handlers: [
          { when: 'context.input.number < 7', handle: () => transition('work') },
          { handle: () => transition('refused') },
        ],
      },
      work: {
        to: ['done', 'failed'],
        handle: (job) =>
          dispatch(
            'work',
            { job: job.id, step: 1, isHopeless: numberOf(job.input) % 3 === 0 },
            {
              on: { success: 'done', failure: 'failed' },
              executionLimit: '30s',
              retry: { max: 1, then: 'failed' },
            },
          ),
      },
      refused: { end: 'failed', handle: () => fail('large numbers are refused') },
      failed: { end: 'failed' },
      done: { end: true },
    },
  });
}
