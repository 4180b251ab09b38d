import { dispatch, finish, transition } from '../../core/action.ts';
import { type Blueprint, blueprint } from '../../core/blueprint.ts';
import { holding } from '../../core/share-actions.ts';
import { waitFor } from '../../core/wait-actions.ts';
import { simExchange } from './bus.ts';
import type { Moods } from './moods.ts';

/** Those that have most to say. */
export function busBlueprints(moods: Moods): Blueprint[] {
  return [speaker(moods), asker()];
}

export const busBlueprintNames = ['speaker', 'asker'];

/** Every kind of event of the simulation's own blueprints. */
export const eventNames = ['one', 'two', 'three', 'question', 'asked', 'still-there', 'note'];

/** Says one, two, three over the bus, each with another step. */
function speaker(moods: Moods): Blueprint {
  return blueprint({
    name: 'speaker',
    version: 1,
    states: {
      first: {
        start: true,
        to: ['second'],
        handle: (job) => {
          job.emit(simExchange, 'one', null);
          return dispatch('work', { job: job.id, step: 1 }, { on: { success: 'second' } });
        },
      },
      second: {
        to: ['done'],
        timeout: '30s',
        retry: { max: 30, base: '500ms', cap: '5s' },
        run: async (job) => {
          job.emit(simExchange, 'two', null);
          if (moods.dice.chance(moods.throws)) throw new Error('a bad mood');
          return transition('done');
        },
      },
      done: {
        end: true,
        handle: (job) => {
          job.emit(simExchange, 'three', null);
          return finish('said');
        },
      },
    },
  });
}

/** Asks, and does something else before it waits: the answer may lie there already. */
function asker(): Blueprint {
  return blueprint({
    name: 'asker',
    version: 1,
    states: {
      ask: {
        start: true,
        to: ['wait'],
        handle: (job) => {
          job.emit(simExchange, 'question', { of: job.id });
          return dispatch('work', { job: job.id, step: 1 }, { on: { success: 'wait' } });
        },
      },
      wait: {
        to: ['done', 'unanswered'],
        handle: (job) =>
          holding(waitFor({ on: { answer: 'done', timeout: 'unanswered' }, deadline: '3m' }), {
            keys: [`asker-${job.id}`],
          }),
      },
      unanswered: { end: true },
      done: { end: true },
    },
  });
}
