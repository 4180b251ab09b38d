import { CapatazError } from '../../protocol/errors.ts';
import { delay } from '../../std/clock.ts';
import type { News, OutboxVerdict, Store, Work, WorkOutcome } from '../../store/contract.ts';
import type { Dice } from './dice.ts';
import { never, type SimProcess } from './process.ts';

export interface StoreFaults {
  /** Share of writes at which the process dies, half of them before, half after it is applied. */
  readonly crash: number;
  /** Share of calls that fail with STORE_UNAVAILABLE, nothing being changed. */
  readonly fail: number;
  /** Longest latency of a call, in ms. */
  readonly latencyMs: number;
}

export const noStoreFaults: StoreFaults = { crash: 0, fail: 0, latencyMs: 2 };

/** What becomes of one call. */
export type StoreFault = 'none' | 'fail' | 'crash-before' | 'crash-after';

/** Called after each write that was applied, whether or not anybody lives to hear of it. */
export interface StoreWatch {
  onCommitted(work: Work, outcome: WorkOutcome): void;
  onSettled(verdicts: readonly OutboxVerdict[]): void;
  onRedriven(ids: readonly string[]): void;
  onResolved(ids: readonly string[]): void;
}

/** The verbs that servers die at, and how each is told. Arguments and answers are the contract's. */
const writes: Readonly<
  Record<string, (watch: StoreWatch, argument: unknown, outcome: unknown) => void>
> = {
  commit: (watch, work, outcome) => watch.onCommitted(work as Work, outcome as WorkOutcome),
  settleOutbox: (watch, verdicts) => watch.onSettled(verdicts as OutboxVerdict[]),
  redriveLetters: (watch, _, ids) => watch.onRedriven(ids as string[]),
  resolveLetters: (watch, _, ids) => watch.onResolved(ids as string[]),
};

export interface FaultyStoreParts {
  readonly store: Store;
  readonly process: SimProcess;
  readonly dice: Dice;
  readonly faults: () => StoreFaults;
  readonly watch: StoreWatch;
  readonly onCrash: () => void;
  /** Decides about each call in place of the dice. */
  readonly decide?: (isWrite: boolean) => StoreFault;
}

/** A store as one process sees it: slow, sometimes failing, and the usual place to die at. */
export function faultyStore(parts: FaultyStoreParts): Store {
  return new Proxy(parts.store, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function' || key === 'close') return value;
      if (key === 'subscribe') return heard(parts);
      const tell = typeof key === 'string' ? writes[key] : undefined;
      return (...args: unknown[]) =>
        parts.process.answer(
          call(parts, tell !== undefined, async () => {
            const outcome: unknown = await value.apply(target, args);
            tell?.(parts.watch, args[0], outcome);
            return outcome;
          }),
        );
    },
  });
}

/** A store that lost a message finds out sooner or later. */
const lossFoundMs = 15_000;
/** Messages are lost more often than calls fail. */
const lossTimes = 5;

/** News reach a process when it is awake, and now and then they don't. */
function heard({ store, process, dice, faults }: FaultyStoreParts): Store['subscribe'] {
  return (listener) =>
    store.subscribe((news) => {
      const tell = (told: News): void => {
        if (process.alive) listener(told);
      };
      if (process.frozen) void process.awake().then(() => tell({ type: 'anything' }));
      else if (dice.chance(faults().fail * lossTimes))
        process.clock.after(lossFoundMs, () => tell({ type: 'anything' }));
      else tell(news);
    });
}

async function call<T>(
  parts: FaultyStoreParts,
  isWrite: boolean,
  run: () => Promise<T>,
): Promise<T> {
  const { process, onCrash } = parts;
  const fault = parts.decide?.(isWrite) ?? drawn(parts, isWrite);
  await lag(parts);
  await process.awake();
  if (!process.alive) return never();
  if (fault === 'fail') throw new CapatazError('STORE_UNAVAILABLE', 'the simulated store fails');
  if (fault === 'crash-before') {
    onCrash();
    return never();
  }
  const outcome = await run();
  if (fault === 'crash-after') onCrash();
  await lag(parts);
  return outcome;
}

function drawn({ dice, faults }: FaultyStoreParts, isWrite: boolean): StoreFault {
  const { crash, fail } = faults();
  if (isWrite && dice.chance(crash)) return dice.chance(0.5) ? 'crash-before' : 'crash-after';
  return dice.chance(fail) ? 'fail' : 'none';
}

/** Now and then a call takes much longer than the others, and many overtake it. */
const slowShare = 0.1;
const slowTimes = 8;

async function lag({ process, dice, faults }: FaultyStoreParts): Promise<void> {
  const slowness = dice.chance(slowShare) ? slowTimes : 1;
  const ms = dice.between(0, faults().latencyMs * slowness);
  if (ms > 0) await delay(process.clock, ms);
}
