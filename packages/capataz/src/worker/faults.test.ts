import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWorker, type PollQuery, type Transport, TransportError } from 'capataz/worker';
import fc from 'fast-check';
import type { ResultsAnswer, ResultsBody, TaskBody } from '../protocol/worker-api.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { taskBody } from './fixtures/scripted-server.ts';

type Fault = 'none' | 'before' | 'after' | 'silent' | 'busy' | 'forgotten';

/**
 * A server in front of which anything may go wrong: a request that never arrives, an answer that is
 * lost although the server acted, silence, overload, a lost memory. It hands each task out once and
 * keeps what it was told.
 */
class FaultyServer implements Transport {
  readonly reported = new Map<string, number>();
  readonly #clock: VirtualClock;
  readonly #nextFault: () => Fault;
  readonly #waiting: TaskBody[];
  /** Handed out in an answer that got lost: the worker never hears of these. */
  readonly lostOnTheWay = new Set<string>();

  constructor(clock: VirtualClock, tasks: readonly TaskBody[], nextFault: () => Fault) {
    this.#clock = clock;
    this.#waiting = [...tasks];
    this.#nextFault = nextFault;
  }

  get left(): number {
    return this.#waiting.length;
  }

  register(): Promise<void> {
    return this.#through(() => undefined);
  }

  heartbeat(): Promise<{ status: 'ok' }> {
    return this.#through(() => ({ status: 'ok' }));
  }

  event(): Promise<void> {
    return this.#through(() => undefined);
  }

  async poll({ max, timeoutSeconds }: PollQuery): Promise<readonly TaskBody[]> {
    if (this.#waiting.length === 0) {
      await new Promise<void>((resolve) => this.#clock.after(timeoutSeconds * 1_000, resolve));
    }
    return this.#through(
      () => this.#take(max),
      (tasks) => this.#lose(tasks),
    );
  }

  report({ results, want = 0 }: ResultsBody): Promise<ResultsAnswer> {
    return this.#through(
      () => {
        const answers = results.map(({ task_id }) => {
          const times = this.reported.get(task_id) ?? 0;
          this.reported.set(task_id, times + 1);
          return times === 0
            ? ({ status: 'accepted', transition: 'success_transition' } as const)
            : ({
                status: 'refused',
                code: 'ATTEMPT_NOT_CURRENT',
                reason: 'stale_task',
                message: 'it has ended',
              } as const);
        });
        return { results: answers, tasks: this.#take(want) };
      },
      ({ tasks }) => this.#lose(tasks),
    );
  }

  close(): void {}

  #take(max: number): TaskBody[] {
    return this.#waiting.splice(0, max);
  }

  #lose(tasks: readonly TaskBody[]): void {
    for (const { task_id } of tasks) this.lostOnTheWay.add(task_id);
  }

  /** `act` is what the server does, `onLost` what follows when its answer does not arrive. */
  async #through<T>(act: () => T, onLost: (answer: T) => void = () => {}): Promise<T> {
    const fault = this.#nextFault();
    await new Promise<void>((resolve) => this.#clock.after(5, resolve));
    switch (fault) {
      case 'before':
        throw new TransportError('connection refused');
      case 'busy':
        throw new TransportError('try later', { status: 503, retryAfterMs: 100 });
      case 'forgotten':
        throw new TransportError('Worker not found', { status: 404 });
      case 'silent':
        return Promise.withResolvers<T>().promise;
      case 'after': {
        onLost(act());
        throw new TransportError('connection reset');
      }
      case 'none':
        return act();
    }
  }
}

test('whatever happens on the way, each task runs once and each result arrives', async () => {
  const faults = fc.constantFrom<Fault>('none', 'before', 'after', 'silent', 'busy', 'forgotten');
  await fc.assert(
    fc.asyncProperty(
      fc.array(faults, { maxLength: 24 }),
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 5 }),
      async (sequence, count, concurrency) => {
        const clock = new VirtualClock();
        const rest = [...sequence];
        const tasks = Array.from({ length: count }, (_, index) => taskBody(index));
        const server = new FaultyServer(clock, tasks, () => rest.shift() ?? 'none');
        const runs = new Map<string, number>();
        const worker = createWorker({
          url: 'http://127.0.0.1:1',
          clock,
          random: { next: () => 0.5, id: () => 'id', secret: () => 'secret' },
          transport: server,
          concurrency,
          skills: {
            work: async ({ attempt, params }) => {
              runs.set(attempt, (runs.get(attempt) ?? 0) + 1);
              await new Promise<void>((resolve) => clock.after(Number(params.number) % 7, resolve));
              return null;
            },
          },
        });
        void worker.start();
        const silences = sequence.filter((fault) => fault === 'silent').length;
        await clock.advance(30_000 + 36_000 * silences);
        for (const { task_id } of tasks) {
          const isLost = server.lostOnTheWay.has(task_id);
          assert.equal(runs.get(task_id) ?? 0, isLost ? 0 : 1, task_id);
          assert.equal(server.reported.has(task_id), !isLost, task_id);
        }
        assert.equal(server.left, 0);
        const stopping = worker.stop();
        await clock.advance(60_000);
        await stopping;
        assert.equal(worker.state, 'stopped');
      },
    ),
    { numRuns: 20 },
  );
});
