import { CapatazError } from '../../protocol/errors.ts';
import { type Clock, delay } from '../../std/clock.ts';
import type { Store, Work, WorkOutcome } from '../../store/contract.ts';
import type { Dice } from './dice.ts';
import { never, type SimProcess } from './process.ts';

export interface StoreFaults {
  /** Share of commits at which the process dies, half of them before, half after it is applied. */
  readonly crash: number;
  /** Share of calls that fail with STORE_UNAVAILABLE, nothing being changed. */
  readonly fail: number;
  /** Longest latency of a call, in ms. */
  readonly latencyMs: number;
}

export const noStoreFaults: StoreFaults = { crash: 0, fail: 0, latencyMs: 2 };

/** Called around each commit: what is the truth before, and what was promised after. */
export interface CommitWatch {
  onCommitted(work: Work, outcome: WorkOutcome): void;
}

export interface FaultyStoreParts {
  readonly store: Store;
  readonly process: SimProcess;
  readonly clock: Clock;
  readonly dice: Dice;
  readonly faults: () => StoreFaults;
  readonly watch: CommitWatch;
  readonly onCrash: () => void;
}

/** A store as one process sees it: slow, sometimes failing, and the usual place to die at. */
export function faultyStore(parts: FaultyStoreParts): Store {
  const { store, process } = parts;
  return new Proxy(store, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function' || key === 'close') return value;
      if (key === 'commit') return (work: Work) => process.answer(commit(parts, work));
      return (...args: unknown[]) =>
        process.answer(call(parts, () => value.apply(target, args) as Promise<unknown>));
    },
  });
}

async function call<T>(parts: FaultyStoreParts, run: () => Promise<T>): Promise<T> {
  await lag(parts);
  return parts.process.alive ? run() : never;
}

async function commit(parts: FaultyStoreParts, work: Work): Promise<WorkOutcome> {
  const { store, dice, faults, process, onCrash, watch } = parts;
  await lag(parts);
  if (!process.alive) return never;
  const crash = dice.chance(faults().crash);
  const crashBefore = crash && dice.chance(0.5);
  if (crashBefore) {
    onCrash();
    return never;
  }
  const outcome = await store.commit(work);
  watch.onCommitted(work, outcome);
  if (crash) onCrash();
  await lag(parts);
  return outcome;
}

async function lag({ clock, dice, faults }: FaultyStoreParts): Promise<void> {
  const { latencyMs, fail } = faults();
  const ms = dice.between(0, latencyMs);
  if (ms > 0) await delay(clock, ms);
  if (dice.chance(fail)) throw new CapatazError('STORE_UNAVAILABLE', 'the simulated store fails');
}
