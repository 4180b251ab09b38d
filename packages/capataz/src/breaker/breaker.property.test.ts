import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { type Breaker, breaker } from './breaker.ts';
import type { CircuitState, Verdict } from './circuit.ts';
import { CircuitOpenError } from './circuit-open.ts';

/**
 * The table of the breaker against the breaker, under any order of beginnings, ends and time.
 * The reference keeps nothing but a log and reads it from the start for every answer.
 */

interface Limits {
  readonly failureThreshold: number;
  readonly successThreshold: number;
  readonly openMs: number;
  readonly maxProbes: number;
  readonly probeMs: number;
}

type Entry =
  | { readonly at: number; readonly type: 'asked'; readonly call: number }
  | {
      readonly at: number;
      readonly type: 'ended';
      readonly call: number;
      readonly verdict: Verdict;
    };

interface Reading {
  state: CircuitState;
  /** Which stay in this state it is. */
  stay: number;
  since: number;
  failures: number;
  successes: number;
  /** Calls under way that count, with the stay and the moment in which they began. */
  readonly running: Map<number, { readonly stay: number; readonly at: number }>;
  refused: boolean;
}

function read(log: readonly Entry[], now: number, limits: Limits): Reading {
  const reading: Reading = {
    state: 'closed',
    stay: 0,
    since: 0,
    failures: 0,
    successes: 0,
    running: new Map(),
    refused: false,
  };
  for (const entry of log) {
    expire(reading, entry.at, limits);
    if (entry.type === 'asked') ask(reading, entry, limits);
    else end(reading, entry, limits);
  }
  expire(reading, now, limits);
  return reading;
}

function enter(reading: Reading, state: CircuitState, at: number): void {
  reading.state = state;
  reading.stay += 1;
  reading.since = at;
  reading.failures = 0;
  reading.successes = 0;
}

function probes(reading: Reading): [number, { readonly stay: number; readonly at: number }][] {
  return [...reading.running].filter(([, { stay }]) => stay === reading.stay);
}

function expire(reading: Reading, until: number, { probeMs }: Limits): void {
  if (reading.state !== 'half_open') return;
  const due = probes(reading)
    .map(([, { at }]) => at + probeMs)
    .sort((a, b) => a - b)[0];
  if (due === undefined || due > until) return;
  enter(reading, 'open', due);
}

function ask(reading: Reading, { at, call }: Entry, limits: Limits): void {
  if (reading.state === 'open' && at - reading.since >= limits.openMs)
    enter(reading, 'half_open', at);
  const most = Math.min(limits.maxProbes, limits.successThreshold - reading.successes);
  reading.refused =
    reading.state === 'open' || (reading.state === 'half_open' && probes(reading).length >= most);
  if (!reading.refused) reading.running.set(call, { stay: reading.stay, at });
}

function end(reading: Reading, entry: Entry & { type: 'ended' }, limits: Limits): void {
  const begun = reading.running.get(entry.call);
  reading.running.delete(entry.call);
  if (begun === undefined || begun.stay !== reading.stay || entry.verdict === 'none') return;
  if (entry.verdict === 'success') {
    reading.failures = 0;
    reading.successes += 1;
    const isBack = reading.state === 'half_open' && reading.successes === limits.successThreshold;
    if (isBack) enter(reading, 'closed', entry.at);
    return;
  }
  reading.failures += 1;
  const isDown = reading.state === 'half_open' || reading.failures === limits.failureThreshold;
  if (isDown) enter(reading, 'open', entry.at);
}

type Move =
  | { readonly type: 'ask' }
  | { readonly type: 'end'; readonly which: number; readonly verdict: Verdict }
  | { readonly type: 'wait'; readonly ms: number };

const anyLimits: fc.Arbitrary<Limits> = fc.record({
  failureThreshold: fc.integer({ min: 1, max: 5 }),
  successThreshold: fc.integer({ min: 1, max: 4 }),
  openMs: fc.integer({ min: 1, max: 40 }),
  maxProbes: fc.integer({ min: 1, max: 5 }),
  probeMs: fc.integer({ min: 1, max: 60 }),
});

const anyMove: fc.Arbitrary<Move> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Move>({ type: 'ask' }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('end' as const),
      which: fc.nat(1_000),
      verdict: fc.constantFrom<Verdict>('success', 'success', 'failure', 'failure', 'none'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('wait' as const),
      ms: fc.integer({ min: 0, max: 45 }),
    }),
  },
);

function make(limits: Limits, clock: VirtualClock): Breaker {
  const { openMs, probeMs, ...rest } = limits;
  return breaker({
    ...rest,
    clock,
    openFor: `${openMs}ms`,
    probeTimeout: `${probeMs}ms`,
    judge: (error) => (error === 'none' ? 'none' : 'failure'),
  });
}

/** Calls of a breaker that the test ends when it wants. */
class Calls {
  readonly #made: Breaker;
  readonly #open = new Map<number, PromiseWithResolvers<string>>();
  #count = 0;

  constructor(made: Breaker) {
    this.#made = made;
  }

  get running(): number[] {
    return [...this.#open.keys()];
  }

  /** @returns its number, and whether the operation was started. */
  ask(): { call: number; started: boolean } {
    const call = this.#count;
    this.#count += 1;
    const answer = Promise.withResolvers<string>();
    this.#made
      .call(() => {
        this.#open.set(call, answer);
        return answer.promise;
      })
      .catch((error: unknown) =>
        assert.ok(error instanceof CircuitOpenError || error !== 'success'),
      );
    return { call, started: this.#open.has(call) };
  }

  end(call: number, verdict: Verdict): void {
    const answer = this.#open.get(call);
    this.#open.delete(call);
    if (verdict === 'success') answer?.resolve(verdict);
    else answer?.reject(verdict);
  }
}

async function play(limits: Limits, moves: readonly Move[]): Promise<Set<CircuitState>> {
  const clock = new VirtualClock();
  const made = make(limits, clock);
  const calls = new Calls(made);
  const log: Entry[] = [];
  const seen = new Set<CircuitState>();
  for (const move of moves) {
    const at = clock.steady();
    if (move.type === 'wait') await clock.advance(move.ms);
    else if (move.type === 'ask') {
      const { call, started } = calls.ask();
      log.push({ at, type: 'asked', call });
      assert.equal(started, !read(log, at, limits).refused, 'started, by the table');
    } else if (calls.running.length > 0) {
      const call = calls.running[move.which % calls.running.length] ?? 0;
      calls.end(call, move.verdict);
      log.push({ at, type: 'ended', call, verdict: move.verdict });
      await clock.advance(0);
    }
    assert.equal(made.state, read(log, clock.steady(), limits).state, 'the state, by the table');
    seen.add(made.state);
  }
  await assertLeavesHalfOpen(made, clock, limits);
  return seen;
}

/** Whatever happened, nobody is refused for longer than the times that were set. */
async function assertLeavesHalfOpen(
  made: Breaker,
  clock: VirtualClock,
  { probeMs, openMs }: Limits,
): Promise<void> {
  await clock.advance(probeMs);
  await clock.advance(openMs);
  assert.ok(!(made.admit() instanceof CircuitOpenError), 'the circuit is stuck');
}

test('H-42 H-z H-aa H-bb H-cc any interleaving follows the table, and no breaker stays shut', async () => {
  const seen = new Set<CircuitState>();
  await fc.assert(
    fc.asyncProperty(
      anyLimits,
      fc.array(anyMove, { minLength: 20, maxLength: 60, size: 'max' }),
      async (limits, moves) => {
        for (const state of await play(limits, moves)) seen.add(state);
      },
    ),
    { numRuns: 300 },
  );
  assert.equal(seen.size, 3, 'every state was met');
});
