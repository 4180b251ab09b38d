import {
  type DispatchOptions,
  dispatch,
  fail,
  finish,
  retry,
  sleep,
  transition,
} from '../../core/action.ts';
import type { Action } from '../../core/any-action.ts';
import { type Blueprint, blueprint, type StateDefinition } from '../../core/blueprint.ts';
import type { HandlerJob, RunningJob } from '../../core/handler.ts';
import type { JsonValue } from '../../std/json.ts';
import { simExchange } from './bus.ts';
import { Dice } from './dice.ts';
import type { Moods } from './moods.ts';

type AnyState = StateDefinition<string, JsonValue>;

/** How often a job may go back to an earlier state, so that every one of them ends. */
const mostLoops = 3;

/**
 * A blueprint that nobody thought of: two to seven states in a row, each with a handler from a
 * small grammar, edges forward and now and then back. The same seed gives the same blueprint.
 */
export function randomBlueprint(name: string, seed: number, moods: Moods): Blueprint {
  const dice = new Dice(seed);
  const count = dice.between(2, 7);
  const states: Record<string, AnyState> = {};
  for (let index = 0; index < count; index += 1) {
    const next = index === count - 1 ? 'end' : `s${index + 1}`;
    const back = index > 0 && dice.chance(0.2) ? `s${dice.between(0, index - 1)}` : null;
    const says = dice.chance(0.3);
    const state = randomState(dice, { index, next, back, says }, moods);
    states[`s${index}`] = index === 0 ? { ...state, start: true } : state;
  }
  states.end = dice.chance(0.5)
    ? { end: true }
    : { end: true, handle: () => finish({ by: 'end' }) };
  return blueprint({ name, version: 1, states });
}

interface Place {
  readonly index: number;
  readonly next: string;
  readonly back: string | null;
  /** Whether the world is told that the job came by. */
  readonly says: boolean;
}

function randomState(dice: Dice, place: Place, moods: Moods): AnyState {
  const to = [place.next, ...(place.back === null ? [] : [place.back])];
  const kind = dice.pick(['pass', 'task', 'task', 'task', 'sleep', 'run', 'run', 'guard'] as const);
  switch (kind) {
    case 'pass':
      return { to, handle: (job) => transition(onward(job, place)) };
    case 'task':
      return taskState(dice, place, to);
    case 'sleep': {
      const seconds = dice.between(1, 40);
      return { to, handle: (job) => sleep(`${seconds}s`, onward(job, place)) };
    }
    case 'run':
      return runState(dice, place, to, moods);
    case 'guard':
      return {
        to,
        handlers: [
          {
            when: 'has(context.data.loops) && context.data.loops > 1.0',
            handle: () => transition(place.next),
          },
          { when: 'context.input.number > 1000', handle: () => fail('too large') },
          { handle: (job) => transition(onward(job, place)) },
        ],
      };
  }
}

/** Back where there is such an edge and loops are left, else on. */
function onward(job: HandlerJob, { index, next, back, says }: Place): string {
  if (says) job.emit(simExchange, 'note', { from: index });
  const loops = Number(job.data.loops ?? 0);
  if (back === null || loops >= mostLoops) return next;
  job.data.loops = loops + 1;
  return back;
}

function taskState(dice: Dice, place: Place, to: readonly string[]): AnyState {
  const options: Omit<DispatchOptions, 'on'> = {
    priority: dice.between(-3, 3),
    ...(dice.chance(0.3) ? { resultTimeout: `${dice.between(20, 200)}s` } : {}),
    ...(dice.chance(0.3) ? { dispatchTimeout: `${dice.between(20, 200)}s` } : {}),
    ...(dice.chance(0.3) ? { delay: `${dice.between(1, 20)}s` } : {}),
    ...(dice.chance(0.3) ? { executionLimit: `${dice.between(10, 60)}s` } : {}),
    ...(dice.chance(0.3)
      ? {
          retry: {
            max: dice.between(0, 4),
            base: '500ms',
            then: dice.pick(['quarantine', place.next]),
          },
        }
      : {}),
  };
  const skill = dice.pick(['work', 'work', 'poison']);
  const onTimeout = dice.chance(0.5) ? { timeout: place.next } : {};
  return {
    to,
    handle: (job) => {
      const target = onward(job, place);
      const loops = Number(job.data.loops ?? 0);
      const params = { job: job.id, step: `${place.index}.${loops}` };
      return dispatch(skill, params, { ...options, on: { success: target, ...onTimeout } });
    },
  };
}

function runState(dice: Dice, place: Place, to: readonly string[], moods: Moods): AnyState {
  const longestMs = dice.between(1, 8_000);
  return {
    to,
    timeout: `${dice.between(10, 40)}s`,
    retry: { max: 30, base: '500ms', cap: '5s' },
    run: async (job: RunningJob): Promise<Action> => {
      await moods.wait(moods.dice.between(0, longestMs));
      if (moods.dice.chance(moods.throws)) throw new Error('a bad mood');
      if (moods.dice.chance(moods.throws)) return retry({ reason: 'not yet' });
      if (moods.dice.chance(moods.hangs)) await moods.wait(3_600_000);
      return transition(onward(job, place));
    },
  };
}
