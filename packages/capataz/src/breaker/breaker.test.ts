import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type BreakerChange,
  type BreakerOptions,
  breaker,
  CapatazError,
  CircuitOpenError,
  type Permit,
} from 'capataz';
import { VirtualClock } from 'capataz/testing';

function guarded(options: BreakerOptions = {}) {
  const clock = new VirtualClock();
  const changes: string[] = [];
  const made = breaker({
    clock,
    onChange: ({ from, to }) => changes.push(`${from} → ${to}`),
    ...options,
  });
  return { clock, changes, made };
}

type Guarded = ReturnType<typeof guarded>['made'];

const succeed = (made: Guarded) => made.call(() => 'fine');
const inner = new Error('connection refused');

async function fail(made: Guarded, times = 1): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    await assert.rejects(
      made.call(() => Promise.reject(inner)),
      (error) => error === inner,
    );
  }
}

async function refusal(made: Guarded): Promise<CircuitOpenError> {
  let refused: unknown;
  await made
    .call(() => assert.fail('an open circuit ran the operation'))
    .catch((error: unknown) => {
      refused = error;
    });
  assert.ok(refused instanceof CircuitOpenError, String(refused));
  return refused;
}

function permit(made: Guarded): Permit {
  const admitted = made.admit();
  assert.ok(!(admitted instanceof CircuitOpenError), 'the call was refused');
  return admitted;
}

/** Half-open in its first moment: the open time has passed, and no call has come yet. */
async function readyToProbe(options: BreakerOptions = {}) {
  const parts = guarded(options);
  await fail(parts.made, 5);
  await parts.clock.advance(30_000);
  return parts;
}

test('H-42 closed: five failures in a row open, and a success in between starts the count anew', async () => {
  const { made, changes } = guarded();
  await fail(made, 4);
  assert.equal(await succeed(made), 'fine');
  await fail(made, 4);
  assert.equal(made.state, 'closed');
  await fail(made);
  assert.equal(made.state, 'open');
  assert.deepEqual(changes, ['closed → open']);
});

test('H-42 open: refused until 30 s have passed, then the call runs half-open', async () => {
  const { made, clock, changes } = guarded();
  await fail(made, 5);
  await clock.advance(29_999);
  assert.equal((await refusal(made)).retryAfterMs, 1);
  assert.equal(made.state, 'open');
  await clock.advance(1);
  assert.equal(await succeed(made), 'fine');
  assert.equal(made.state, 'half_open');
  assert.deepEqual(changes, ['closed → open', 'open → half_open']);
});

test('H-42 half-open: three successes close, with no failure on the count', async () => {
  const { made, changes } = await readyToProbe();
  for (const state of ['half_open', 'half_open', 'closed']) {
    await succeed(made);
    assert.equal(made.state, state);
  }
  await fail(made, 4);
  assert.equal(made.state, 'closed');
  assert.deepEqual(changes, ['closed → open', 'open → half_open', 'half_open → closed']);
});

test('H-42 half-open: one failure opens with a new 30 s, and the successes before it are forgotten', async () => {
  const { made, clock } = await readyToProbe();
  await succeed(made);
  await succeed(made);
  await clock.advance(10_000);
  await fail(made);
  assert.equal((await refusal(made)).retryAfterMs, 30_000);
  await clock.advance(30_000);
  await succeed(made);
  await succeed(made);
  assert.equal(made.state, 'half_open');
  await succeed(made);
  assert.equal(made.state, 'closed');
});

test('H-42 every threshold and time can be set', async () => {
  const { made, clock } = guarded({ failureThreshold: 2, successThreshold: 1, openFor: '1m' });
  await fail(made, 2);
  await clock.advance(59_999);
  await refusal(made);
  await clock.advance(1);
  await succeed(made);
  assert.equal(made.state, 'closed');
});

test('H-42 settings that make no sense are refused by name', () => {
  assert.throws(() => breaker({ failureThreshold: 0 }), /failureThreshold .* not 0/);
  assert.throws(() => breaker({ successThreshold: 1.5 }), /successThreshold .* not 1.5/);
  assert.throws(() => breaker({ maxProbes: Number.NaN }), /maxProbes/);
  assert.throws(() => breaker({ openFor: '30' }), /openFor .* "30"/);
  assert.throws(() => breaker({ callTimeout: '0s' }), /callTimeout/);
  assert.throws(() => breaker({ probeTimeout: '' }), /probeTimeout/);
  const misspelt: object = { failureTreshold: 3 };
  assert.throws(() => breaker(misspelt), /did you mean "failureThreshold"/);
});

test('H-43 an open circuit does not start the operation and says so with an error of its own', async () => {
  const { made } = guarded({ name: 'mail' });
  await fail(made, 5);
  let calls = 0;
  await assert.rejects(
    made.call(() => {
      calls += 1;
    }),
    (error) =>
      error instanceof CircuitOpenError &&
      error instanceof CapatazError &&
      error.code === 'CIRCUIT_OPEN' &&
      error.breaker === 'mail',
  );
  assert.equal(calls, 0);
});

test('H-44 what the operation throws comes out as it is, thrown at once or later', async () => {
  const { made } = guarded({ failureThreshold: 100 });
  for (const thrown of [inner, new CircuitOpenError('another', 5), 'a text', undefined]) {
    const seen = await Promise.all([
      made.call(() => Promise.reject(thrown)).catch((error: unknown) => ({ error })),
      made
        .call(() => {
          throw thrown;
        })
        .catch((error: unknown) => ({ error })),
    ]);
    assert.deepEqual(seen, [{ error: thrown }, { error: thrown }]);
    for (const value of seen) assert.equal((value as { error: unknown }).error, thrown);
  }
});

test('H-44 a judge says which errors count; it changes none of them', async () => {
  const notFound = new Error('404');
  const given = new Error('the caller gave up');
  const { made, clock } = guarded({
    judge: (error) => (error === notFound ? 'success' : error === given ? 'none' : 'failure'),
  });
  const end = (error: Error) =>
    assert.rejects(
      made.call(() => Promise.reject(error)),
      (thrown) => thrown === error,
    );
  await fail(made, 4);
  await end(given);
  await fail(made);
  assert.equal(made.state, 'open', 'a call that says nothing does not start the count anew');
  await clock.advance(30_000);
  await end(given);
  assert.equal(made.state, 'half_open');
  for (let count = 0; count < 3; count += 1) await end(notFound);
  assert.equal(made.state, 'closed', 'an answer is an answer');
});

test('H-44 a judge that throws makes it a failure, and the caller still gets the first error', async () => {
  const { made } = guarded({
    failureThreshold: 1,
    judge: () => {
      throw new Error('a bug in the judge');
    },
  });
  await fail(made);
  assert.equal(made.state, 'open');
});

test('H-z of many callers at the same moment one probes, the others get CircuitOpen', async () => {
  const { made } = await readyToProbe();
  const answer = Promise.withResolvers<string>();
  let running = 0;
  const calls = Array.from({ length: 50 }, () =>
    made
      .call(() => {
        running += 1;
        return answer.promise;
      })
      .catch((error: unknown) => (error instanceof CircuitOpenError ? 'refused' : 'other')),
  );
  assert.equal(running, 1);
  answer.resolve('ran');
  const outcomes = await Promise.all(calls);
  assert.deepEqual([outcomes[0], new Set(outcomes.slice(1))], ['ran', new Set(['refused'])]);
});

test('H-z with more probes at a time, never more than are needed to close', async () => {
  const { made } = await readyToProbe({ maxProbes: 10 });
  const probes = [permit(made), permit(made), permit(made)];
  assert.equal((await refusal(made)).retryAfterMs, 1_000);
  probes[0]?.end('success');
  await refusal(made);
  probes[1]?.end('none');
  const [, , third] = probes;
  const fourth = permit(made);
  await refusal(made);
  third?.end('success');
  fourth.end('success');
  assert.equal(made.state, 'closed');
});

test('H-z S-36 a probe that is a long task: handed out once, lost is a failure', async () => {
  const { made, clock } = await readyToProbe({ probeTimeout: '1h' });
  const attempt = permit(made);
  await clock.advance(600_000);
  await refusal(made);
  attempt.end('failure');
  assert.equal((await refusal(made)).retryAfterMs, 30_000);
  await clock.advance(30_000);
  permit(made).end('success');
  assert.equal(made.state, 'half_open');
});

test('H-aa the end of a call that began in an earlier state changes nothing', async () => {
  const { made, clock } = guarded();
  const [early, late, last] = [permit(made), permit(made), permit(made)];
  await fail(made, 5);
  await clock.advance(20_000);
  early.end('failure');
  assert.equal((await refusal(made)).retryAfterMs, 10_000, 'the open time does not start anew');
  await clock.advance(10_000);
  const probe = permit(made);
  late.end('failure');
  assert.equal(made.state, 'half_open');
  last.end('success');
  await refusal(made);
  probe.end('success');
  await succeed(made);
  assert.equal(made.state, 'half_open', 'a success of before is none of the three');
  await succeed(made);
  assert.equal(made.state, 'closed');
});

test('H-aa a late probe of one half-open time frees no slot of the next', async () => {
  const { made, clock } = await readyToProbe({ maxProbes: 2 });
  const [slow, quick] = [permit(made), permit(made)];
  quick.end('failure');
  await clock.advance(30_000);
  permit(made);
  permit(made);
  slow.end('success');
  await refusal(made);
});

test('H-bb a probe that never returns counts as failed in time, though nobody asks', async () => {
  const { made, clock, changes } = await readyToProbe();
  const answer = Promise.withResolvers<string>();
  const call = made.call(() => answer.promise);
  await clock.advance(29_999);
  assert.equal(made.state, 'half_open');
  await clock.advance(1);
  assert.deepEqual(changes.slice(-2), ['open → half_open', 'half_open → open']);
  await clock.advance(30_000);
  const probe = permit(made);
  answer.resolve('at last');
  assert.equal(await call, 'at last', 'its caller gets the answer');
  await refusal(made);
  probe.end('success');
  assert.equal(made.state, 'half_open');
});

test('H-bb a call that takes too long is aborted, rejected and a failure, whatever comes later', async () => {
  const { made, clock } = guarded({ name: 'node', failureThreshold: 1, callTimeout: '5s' });
  const answer = Promise.withResolvers<string>();
  let signal: AbortSignal | undefined;
  const call = made.call((given) => {
    signal = given;
    return answer.promise;
  });
  const rejected = assert.rejects(call, { code: 'CALL_TIMEOUT', message: /"node" .* 5.*s$/ });
  await clock.advance(4_999);
  assert.equal(signal?.aborted, false);
  await clock.advance(1);
  await rejected;
  assert.deepEqual([signal?.aborted, made.state], [true, 'open']);
  answer.reject(new Error('too late to matter'));
  await clock.advance(30_000);
  await succeed(made);
  assert.equal(made.state, 'half_open');
});

test('H-bb a timeout is a failure before any judge is asked, and its timer ends with the call', async () => {
  const { made, clock } = guarded({
    failureThreshold: 1,
    callTimeout: '5s',
    judge: () => 'success',
  });
  await succeed(made);
  assert.equal(clock.pending, 0);
  const rejected = assert.rejects(made.call(() => new Promise(() => {})));
  await clock.advance(5_000);
  await rejected;
  assert.equal(made.state, 'open');
});

test('H-bb a permit that is dropped by using frees its slot; only the first verdict counts', async () => {
  const { made, clock } = await readyToProbe();
  {
    using dropped = permit(made);
    assert.ok(dropped);
  }
  const probe = permit(made);
  probe.end('none');
  probe.end('failure');
  probe[Symbol.dispose]();
  assert.deepEqual([made.state, clock.pending], ['half_open', 0]);
  await succeed(made);
});

test('H-cc wherever it opens, it can be tried after the open time', async () => {
  const { made, clock } = guarded({ failureThreshold: 1 });
  for (let round = 0; round < 5; round += 1) {
    await fail(made);
    assert.ok((await refusal(made)).retryAfterMs <= 30_000);
    await clock.advance(30_000);
  }
  await succeed(made);
});

test('H-cc a step of the wall clock neither shortens nor lengthens the open time', async () => {
  const { made, clock } = guarded();
  await fail(made, 5);
  clock.step(3_600_000);
  await refusal(made);
  clock.step(-7_200_000);
  await clock.advance(30_000);
  await succeed(made);
});

test('H-dd a refusal is no attempt: it says when to come back and counts as no failure', async () => {
  const { made, clock } = guarded();
  await fail(made, 5);
  await clock.advance(12_000);
  for (let count = 0; count < 10; count += 1) {
    const error = await refusal(made);
    assert.deepEqual(
      [error.status, error.retryable, error.details],
      [503, true, { breaker: 'default', retry_after_ms: 18_000 }],
    );
    assert.match(error.message, /"default" is open; try again in 18s/);
  }
  await clock.advance(18_000);
  await succeed(made);
});

test('H-ee the gauge says 0 closed, 1 half-open, 2 open', async () => {
  const { made, clock } = guarded();
  assert.equal(made.stateNumber, 0);
  await fail(made, 5);
  assert.equal(made.stateNumber, 2);
  await clock.advance(30_000);
  await succeed(made);
  assert.equal(made.stateNumber, 1);
});

test('H-ee a listener hears of each change once, after it, and may call the breaker', async () => {
  const heard: BreakerChange[] = [];
  const parts = guarded({
    name: 'bus',
    failureThreshold: 1,
    onChange: (change) => {
      heard.push(change);
      assert.equal(parts.made.state, change.to);
      if (change.to === 'half_open') assert.ok(parts.made.admit() instanceof CircuitOpenError);
    },
  });
  await fail(parts.made);
  await parts.clock.advance(30_000);
  await succeed(parts.made);
  const start = Date.UTC(2026, 0, 1);
  assert.deepEqual(heard, [
    { name: 'bus', from: 'closed', to: 'open', at: start },
    { name: 'bus', from: 'open', to: 'half_open', at: start + 30_000 },
  ]);
});

test('H-ee a listener that throws is logged and harms no call', async () => {
  const lines: string[] = [];
  const write = (message: string) => lines.push(message);
  const log = { debug: write, info: write, warn: write, error: write, child: () => log };
  const { made } = guarded({
    failureThreshold: 1,
    log,
    onChange: () => {
      throw new Error('a bug in the listener');
    },
  });
  await fail(made);
  assert.equal(made.state, 'open');
  assert.deepEqual(lines, ['a circuit opened', 'the listener of a circuit threw']);
});
