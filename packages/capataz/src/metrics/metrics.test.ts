import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Breakers } from '../breaker/breakers.ts';
import { type Phase, phase } from '../core/phase.ts';
import { finalStatuses } from '../core/status.ts';
import type { EventSink } from '../engine/relay.ts';
import { ask } from '../testing/ask.ts';
import { type ServedEngine, serveEngine } from '../testing/served-engine.ts';
import { speakingBlueprint } from '../testing/speaking-blueprint.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import {
  begin,
  blueprints,
  create,
  nonZero,
  outliveCache,
  register,
  report,
  type Scraped,
  scrape,
  take,
} from './fixtures/scenes.ts';
import { durationBuckets } from './instruments.ts';
import { Metrics } from './metrics.ts';

/** Section 8 of the lifecycle seed: name, type, label. */
const seedMetrics = [
  ['jobs_created_total', 'counter', null],
  ['jobs_completed_total', 'counter', null],
  ['jobs_failed_total', 'counter', null],
  ['jobs_timed_out_total', 'counter', null],
  ['job_state_duration', 'histogram', 'state'],
  ['jobs_in_state', 'gauge', 'state'],
  ['workers_created_total', 'counter', null],
  ['workers_terminated_total', 'counter', null],
  ['worker_state_duration', 'histogram', 'state'],
  ['workers_in_state', 'gauge', 'state'],
  ['events_published_total', 'counter', null],
  ['events_failed_total', 'counter', null],
  ['event_publish_duration', 'histogram', null],
  ['outbox_queue_size', 'gauge', null],
  ['dlq_size', 'gauge', null],
  ['circuit_breaker_state', 'gauge', 'worker_id'],
  ['dispatch_failures_total', 'counter', null],
] as const;

const speaker = speakingBlueprint('topic', 'said');

class Sink implements EventSink {
  isRefusing = false;

  async publish(): Promise<void> {
    if (this.isRefusing) throw new Error('not wanted');
  }

  pausedForMs(): number | null {
    return null;
  }
}

function countersOf({ values }: Scraped): Record<string, number> {
  const counted = [...values].filter(([name, value]) => name.endsWith('_total') && value !== 0);
  return Object.fromEntries(counted);
}

async function jobsByPhase({ store }: ServedEngine): Promise<Record<string, number>> {
  const jobs = await store.jobs({ limit: 1_000 });
  const counts: Partial<Record<Phase, number>> = {};
  for (const job of jobs) {
    const found = phase(job, await store.tasks([job.id]));
    counts[found] = (counts[found] ?? 0) + 1;
  }
  return counts;
}

/** A job in each phase; two in some. */
async function fillEveryPhase(served: ServedEngine): Promise<void> {
  const { engine, clock } = served;
  await register(served, 'w', 9);
  await create(served, 'task');
  await report(served, await take(served));
  await create(served, 'task');
  const fatal = { code: 'INVALID_INPUT_ERROR', message: 'no' };
  await report(served, await take(served), { error: fatal });
  await create(served, 'parking');
  await report(served, await take(served), { error: { code: 'TRANSIENT_ERROR', message: 'no' } });
  await create(served, 'hasty');
  await clock.advance(5_000);
  await engine.jobs.cancel(await create(served, 'task'), 'test', 'not needed');
  await create(served, 'bound');
  await take(served);
  await create(served, 'task');
  await begin(served, await take(served));
  await create(served, 'split');
  await take(served);
  await create(served, 'task');
  await take(served);
  await create(served, 'person');
  await create(served, 'split');
  await create(served, 'task');
}

test('H-46: all 17 metrics of the seed are exported with their types and labels', async () => {
  const clock = new VirtualClock();
  const breakers = new Breakers({ clock });
  breakers.get('broker');
  const options = { blueprints: [...blueprints, speaker], clock, breakers: [breakers] };
  await using served = await serveEngine({ ...options, sink: new Sink() });
  await fillEveryPhase(served);
  await create(served, 'speaker');
  await served.clock.advance(60_000);
  const scraped = await scrape(served);
  for (const [name, type, label] of seedMetrics) {
    assert.equal(scraped.types.get(name), type, name);
    const own = type === 'histogram' ? `${name}_count` : name;
    const series = [...scraped.values.keys()].filter((key) => key.split('{')[0] === own);
    assert.ok(series.length > 0, `${name} has no series`);
    for (const key of series) {
      const labels = [...key.matchAll(/(\w+)="/g)].map(([, found]) => found);
      assert.deepEqual(labels, label === null ? [] : [label], key);
    }
  }
});

test('H-46: a scrape is text that Prometheus reads, on both paths, and HEAD too', async () => {
  await using served = await serveEngine({ blueprints });
  for (const path of ['/metrics', '/_public/metrics']) {
    const { status, headers } = await ask(served.url, `GET ${path}`);
    assert.equal(status, 200);
    assert.equal(headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
    assert.equal((await ask(served.url, `HEAD ${path}`)).status, 200);
  }
});

test('H-36 H-46: who accepts OpenMetrics gets exemplars with the correlation id of the job', async () => {
  await using served = await serveEngine({ blueprints });
  const start = (headers: Record<string, string>) =>
    ask(served.url, 'POST /api/v1/jobs/task', { headers });
  await start({ 'x-correlation-id': 'c'.repeat(115) });
  await start({ 'x-correlation-id': 'demo-1' });
  await register(served);
  const task = await take(served);
  await served.clock.advance(2_000);
  await report(served, task);
  const accept = 'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.2';
  const { headers, text } = await ask(served.url, 'GET /metrics', { headers: { accept } });
  assert.match(
    headers.get('content-type') ?? '',
    /^application\/openmetrics-text; version=1\.0\.0/,
  );
  assert.match(
    text,
    /^# TYPE jobs_created counter\njobs_created_total 2 # \{correlation_id="demo-1"\} 1 /m,
  );
  // What is too long for an exemplar is none.
  assert.match(text, /^jobs_completed_total 1$/m);
  assert.match(text, /^# TYPE job_state_duration histogram$/m);
  assert.match(text, /\n# EOF\n$/);
  assert.doesNotMatch(text, /\n\n/);
  const other = await take(served);
  await served.clock.advance(2_000);
  await report(served, other);
  const after = await ask(served.url, 'GET /metrics', { headers: { accept } });
  assert.match(
    after.text,
    /^job_state_duration_bucket\{le="2\.5",state="ASSIGNED"\} 2 # \{correlation_id="demo-1"\} 2 1767225\d+/m,
  );
  const unwanted = { accept: 'text/plain, application/openmetrics-text;q=0' };
  const plain = await ask(served.url, 'GET /metrics', { headers: unwanted });
  assert.doesNotMatch(plain.text, /correlation_id/);
  assert.match(plain.text, /^# TYPE jobs_created_total counter$/m);
});

test('H-46: where a metrics token is given, it is asked for', async () => {
  await using served = await serveEngine({ blueprints, metricsToken: 'look-only' });
  const scrapeAs = (authorization: string | null) =>
    ask(served.url, 'GET /metrics', {
      headers: authorization === null ? {} : { Authorization: authorization },
    });
  for (const wrong of [null, 'Bearer', 'Bearer other', 'Basic look-only', 'look-only']) {
    const { status, json } = await scrapeAs(wrong);
    assert.equal(status, 401, `${wrong}`);
    assert.partialDeepStrictEqual(json, { code: 'UNAUTHORIZED' });
  }
  assert.equal((await scrapeAs('Bearer look-only')).status, 200);
});

test('H-46: counters say what happened to jobs, dispatches and workers', async () => {
  await using served = await serveEngine({ blueprints });
  await fillEveryPhase(served);
  assert.deepEqual(countersOf(await scrape(served)), {
    jobs_created_total: 12,
    jobs_completed_total: 1,
    jobs_failed_total: 3,
    jobs_timed_out_total: 1,
    dispatch_failures_total: 1,
    workers_created_total: 1,
  });
});

test('H-46: a parked job that is given up counts as failed once', async () => {
  await using served = await serveEngine({ blueprints });
  await register(served);
  const id = await create(served, 'parking');
  await report(served, await take(served), { error: { code: 'TRANSIENT_ERROR', message: 'no' } });
  await served.engine.jobs.dismiss(id, 'test', 'hopeless');
  assert.equal((await scrape(served)).values.get('jobs_failed_total'), 1);
});

test('H-46 H-f: a stuck attempt counts as failed dispatch, its job as failed and timed out', async () => {
  await using served = await serveEngine({ blueprints });
  await register(served, 'w', 2);
  await create(served, 'task');
  await take(served);
  for (let waited = 0; waited < 600; waited += 10) {
    await served.engine.workers.heartbeat('w', { status: 'idle' });
    await served.clock.advance(10_000);
  }
  assert.partialDeepStrictEqual(countersOf(await scrape(served)), {
    jobs_failed_total: 1,
    jobs_timed_out_total: 1,
    dispatch_failures_total: 1,
  });
});

test('H-46: durations say how long jobs and workers stayed in a state', async () => {
  await using served = await serveEngine({ blueprints });
  const { clock } = served;
  await register(served);
  await create(served, 'task');
  await clock.advance(3_000);
  const task = await take(served);
  await clock.advance(1_000);
  await begin(served, task);
  await clock.advance(7_000);
  await report(served, task);
  const { values } = await scrape(served);
  const seconds = (name: string, state: string) => values.get(`${name}_sum{state="${state}"}`);
  assert.equal(seconds('job_state_duration', 'PENDING'), 3);
  assert.equal(seconds('job_state_duration', 'ASSIGNED'), 1);
  assert.equal(seconds('job_state_duration', 'RUNNING'), 7);
  assert.equal(seconds('worker_state_duration', 'READY'), 3);
  assert.equal(seconds('worker_state_duration', 'BUSY'), 8);
});

test('H-46: a fan-out is RUNNING while somebody holds a branch', async () => {
  await using served = await serveEngine({ blueprints });
  await register(served);
  await create(served, 'split');
  await served.clock.advance(2_000);
  const branch = await take(served);
  await served.clock.advance(4_000);
  await served.engine.workers.undelivered('w', [branch]);
  await served.clock.advance(1_000);
  await report(served, await take(served));
  const { values } = await scrape(served);
  assert.equal(values.get('job_state_duration_sum{state="WAITING"}'), 3);
  assert.equal(values.get('job_state_duration_sum{state="RUNNING"}'), 4);
  assert.equal(values.get('job_state_duration_count{state="WAITING"}'), 2);
});

test('H-47: jobs_in_state equals the number of jobs per state at the scrape', async () => {
  await using served = await serveEngine({ blueprints });
  await fillEveryPhase(served);
  const scraped = await scrape(served);
  const expected = {
    PENDING: 1,
    ASSIGNED: 1,
    SCHEDULED: 1,
    RUNNING: 2,
    SUCCEEDED: 1,
    FAILED: 2,
    CANCELLED: 1,
    TIMEOUT: 1,
    WAITING: 2,
  };
  assert.deepEqual(nonZero(scraped, 'jobs_in_state'), expected);
  assert.deepEqual(await jobsByPhase(served), expected);
  const ended = await served.store.jobs({ limit: 99, status: finalStatuses });
  assert.equal(ended.length, 4);
});

test('H-47 S-44: a gauge is at most 5 s old, and many scrapes read the store once', async () => {
  await using served = await serveEngine({ blueprints });
  await scrape(served);
  await create(served, 'task');
  await served.clock.advance(4_999);
  assert.deepEqual(nonZero(await scrape(served), 'jobs_in_state'), {});
  await served.clock.advance(1);
  assert.deepEqual(nonZero(await scrape(served), 'jobs_in_state'), { PENDING: 1 });
});

test('H-ll: gauges say what the store holds, on each instance and from its start', async () => {
  await using served = await serveEngine({ blueprints });
  await fillEveryPhase(served);
  const { store, engine, clock } = served;
  const other = new Metrics({ clock, sources: () => ({ store, workers: engine.workers }) });
  const own = await scrape(served);
  const { text } = await other.scrape();
  for (const [series, value] of own.values) {
    if (/^(?:jobs|workers|tasks)_in_state|^dlq_size|^outbox/.test(series))
      assert.ok(text.includes(`${series} ${value}\n`), series);
  }
});

test('H-mm: the oldest age tells stuck jobs from many healthy ones', async () => {
  await using served = await serveEngine({ blueprints });
  const { clock } = served;
  await register(served, 'w', 9);
  await create(served, 'task');
  await clock.advance(20_000);
  await take(served);
  await clock.advance(9_000);
  await create(served, 'task');
  await create(served, 'person');
  await clock.advance(1_000);
  assert.deepEqual(nonZero(await scrape(served), 'jobs_oldest_age_seconds'), {
    PENDING: 1,
    ASSIGNED: 10,
    WAITING: 1,
  });
});

test('H-oo: dlq_size counts unresolved dead letters only; the outbox what is not published', async () => {
  const sink = new Sink();
  await using served = await serveEngine({ blueprints: [speaker], sink });
  sink.isRefusing = true;
  await create(served, 'speaker');
  await served.clock.advance(0);
  const size = async (name: string) => (await scrape(served)).values.get(name);
  assert.deepEqual([await size('outbox_queue_size'), await size('dlq_size')], [1, 0]);
  await served.clock.advance(3_600_000);
  assert.deepEqual([await size('outbox_queue_size'), await size('dlq_size')], [0, 1]);
  const [letter] = await served.engine.deadLetters.list({ limit: 9 });
  await served.engine.deadLetters.resolve([letter?.id ?? ''], {
    client: letter?.client ?? '',
    notes: 'seen',
  });
  await outliveCache(served);
  assert.equal(await size('dlq_size'), 0);
  sink.isRefusing = false;
  await create(served, 'speaker');
  await outliveCache(served);
  const { values } = await scrape(served);
  assert.equal(values.get('events_failed_total'), 6);
  assert.equal(values.get('events_published_total'), 1);
  assert.equal(values.get('event_publish_duration_count'), 7);
});

test('H-pp: histograms reach from a tenth of a second to an hour, by state, in seconds', async () => {
  await using served = await serveEngine({ blueprints });
  await register(served);
  await create(served, 'task');
  await take(served);
  const { values, text } = await scrape(served);
  const bounds = [...values.keys()].flatMap((series) => {
    const found = /^job_state_duration_bucket\{le="(.*?)",state="PENDING"\}$/.exec(series)?.[1];
    return found === undefined ? [] : [found];
  });
  assert.deepEqual(bounds, [...durationBuckets.map(String), '+Inf']);
  assert.deepEqual([durationBuckets[0], durationBuckets.at(-1)], [0.1, 3_600]);
  assert.match(text, /# HELP job_state_duration Seconds /);
});

test('H-y: the breaker gauge names what is guarded, and drops the series of what is gone', async () => {
  const clock = new VirtualClock();
  const breakers = new Breakers({ clock });
  await using served = await serveEngine({ blueprints, clock, breakers: [breakers] });
  breakers.get('provider-a');
  breakers.get('provider-b');
  const series = async () =>
    [...(await scrape(served)).values.keys()].filter((key) => key.startsWith('circuit_breaker'));
  assert.deepEqual(await series(), [
    'circuit_breaker_state{worker_id="provider-a"}',
    'circuit_breaker_state{worker_id="provider-b"}',
  ]);
  breakers.forget('provider-a');
  assert.deepEqual(await series(), ['circuit_breaker_state{worker_id="provider-b"}']);
  await clock.advance(600_000);
  assert.deepEqual(await series(), []);
});

test('H-y: a thousand workers that come and go leave no series of their own', async () => {
  await using served = await serveEngine({ blueprints });
  const before = (await scrape(served)).values.size;
  for (let n = 0; n < 1_000; n += 1) {
    await register(served, `w${n}`);
    await served.engine.workers.heartbeat(`w${n}`, { status: 'offline', currentTasks: [] });
  }
  const { values } = await scrape(served);
  assert.equal(values.get('workers_terminated_total'), 1_000);
  // Each of them was CREATING, CONNECTING, READY and TERMINATING.
  const ofOneState = durationBuckets.length + 3;
  assert.equal(values.size - before, 4 * ofOneState);
});

test('H-ee: breaker states are 0 closed, 1 half-open and 2 open, of this process', async () => {
  const clock = new VirtualClock();
  const breakers = new Breakers({ clock, failureThreshold: 1 });
  await using served = await serveEngine({ blueprints, clock, breakers: [breakers] });
  const state = async () =>
    (await scrape(served)).values.get('circuit_breaker_state{worker_id="broker"}');
  const fail = () => Promise.reject(new Error('down'));
  breakers.get('broker');
  assert.equal(await state(), 0);
  await assert.rejects(breakers.call('broker', fail));
  assert.equal(await state(), 2);
  await clock.advance(30_000);
  await breakers.call('broker', async () => undefined);
  assert.equal(await state(), 1);
  assert.match(
    (await scrape(served)).text,
    /HELP circuit_breaker_state .*of this process.*0 closed, 1 half-open, 2 open/,
  );
});

test('A-43: idle gauges are zero, each series is there', async () => {
  await using served = await serveEngine({ blueprints });
  const { values } = await scrape(served);
  const gauges = [...values].filter(([series]) =>
    /^(?:jobs|workers|tasks)_in_state|^jobs_oldest|^dlq_size|^outbox_queue/.test(series),
  );
  assert.equal(gauges.length, 9 + 9 + 7 + 8 + 2);
  for (const [series, value] of gauges) assert.equal(value, 0, series);
});

test('A-43: a dead worker leaves all gauges, and its task too', async () => {
  await using served = await serveEngine({ blueprints });
  await register(served);
  await create(served, 'task');
  await take(served);
  assert.deepEqual(nonZero(await scrape(served), 'workers_in_state'), { BUSY: 1 });
  await served.clock.advance(31_000);
  const scraped = await scrape(served);
  assert.deepEqual(nonZero(scraped, 'workers_in_state'), {});
  assert.deepEqual(nonZero(scraped, 'tasks_in_state'), {});
  assert.equal(scraped.values.get('workers_terminated_total'), 1);
  assert.equal(scraped.values.get('worker_state_duration_sum{state="BUSY"}'), 30);
});

test('C-b: a signal that nothing takes is counted', async () => {
  await using served = await serveEngine({ blueprints });
  const job = await create(served, 'person');
  const { status } = await ask(served.url, `POST /api/v1/jobs/${job}/signals`, {
    body: { name: 'nonsense' },
  });
  assert.equal(status, 409);
  assert.deepEqual(nonZero(await scrape(served), 'signals_ignored_total'), { refused: 1 });
});
