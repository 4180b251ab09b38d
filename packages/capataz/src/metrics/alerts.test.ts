/** The rules in deploy/prometheus: that they load, ask for what there is, and fire when they should. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firesAt, groups, rules } from './fixtures/alert-rules.ts';
import { knownSeries } from './fixtures/known-series.ts';
import { Query, type Series } from './fixtures/promql.ts';

function from(start: number, length = 61 - start): number[] {
  return Array.from({ length }, (_, index) => start + index);
}

/** The gauge has one value until a minute, and another from then on. */
function gauge(
  name: string,
  states: Readonly<Record<string, (minute: number) => number>>,
): Series[] {
  return Object.entries(states).map(([state, at]) => ({ name, labels: { state }, at }));
}

function plain(name: string, at: (minute: number) => number, instance = 'a'): Series {
  return { name, labels: { instance }, at };
}

/** A counter that grows by so much in each minute. */
function counter(name: string, perMinute: number, instance = 'a'): Series {
  return plain(name, (minute) => perMinute * minute, instance);
}

test('H-48: the four alert rules are there as given', () => {
  const [given] = groups;
  const shown = given?.rules.map(({ alert, expr, for: holdFor, labels }) => [
    alert,
    expr,
    holdFor,
    labels.severity,
  ]);
  assert.equal(given?.name, 'job_lifecycle_alerts');
  assert.deepEqual(shown, [
    ['JobsStuckInAssigned', 'sum(jobs_in_state{state="ASSIGNED"}) > 10', '5m', 'warning'],
    [
      'HighJobFailureRate',
      'rate(jobs_failed_total[5m]) / rate(jobs_created_total[5m]) > 0.1',
      '2m',
      'critical',
    ],
    ['OutboxQueueBacklog', 'outbox_queue_size > 1000', '5m', 'warning'],
    ['DLQNotEmpty', 'dlq_size > 0', '1m', 'warning'],
  ]);
});

test('H-48 A-66: every rule asks for metrics, labels and values that exist', () => {
  const known = knownSeries();
  for (const { alert, expr } of rules) {
    const { selectors } = new Query(expr);
    assert.ok(selectors.length > 0, alert);
    for (const { name, matchers } of selectors) {
      const labels = known.get(name);
      assert.ok(labels !== undefined, `${alert}: there is no ${name}`);
      for (const { label, value } of matchers) {
        for (const one of value.split('|'))
          assert.ok(labels[label]?.includes(one), `${alert}: ${one}`);
      }
    }
  }
  assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
});

test('H-48: JobsStuckInAssigned fires on more than ten, after five minutes', () => {
  const stuck = (count: number): Series[] =>
    gauge('jobs_in_state', { ASSIGNED: (m) => (m < 20 ? 0 : count), PENDING: () => 99 });
  assert.deepEqual(firesAt('JobsStuckInAssigned', stuck(10)), []);
  assert.deepEqual(firesAt('JobsStuckInAssigned', stuck(11)), from(25));
});

test('H-48: HighJobFailureRate fires on more than a tenth, after two minutes', () => {
  const failing = (perMinute: number): Series[] => [
    counter('jobs_failed_total', perMinute),
    counter('jobs_created_total', 10),
  ];
  assert.deepEqual(firesAt('HighJobFailureRate', failing(1)), []);
  assert.deepEqual(firesAt('HighJobFailureRate', failing(1.1)), from(7));
});

test('H-48: OutboxQueueBacklog fires above a thousand, after five minutes', () => {
  const queued = (high: number): Series[] => [
    plain('outbox_queue_size', (m) => (m >= 10 && m < 20 ? high : 0)),
  ];
  assert.deepEqual(firesAt('OutboxQueueBacklog', queued(1_000)), []);
  assert.deepEqual(firesAt('OutboxQueueBacklog', queued(1_001)), from(15, 5));
});

test('H-48: DLQNotEmpty fires on the first dead letter, after a minute', () => {
  assert.deepEqual(firesAt('DLQNotEmpty', [plain('dlq_size', () => 0)]), []);
  assert.deepEqual(firesAt('DLQNotEmpty', [plain('dlq_size', (m) => (m < 30 ? 0 : 1))]), from(31));
});

test('H-mm: JobsStuckByAge leaves a healthy load alone and sees a single stuck job', () => {
  const aged = (assigned: number, scheduled: number): Series[] => [
    ...gauge('jobs_in_state', { ASSIGNED: () => 11 }),
    ...gauge('jobs_oldest_age_seconds', {
      ASSIGNED: () => assigned,
      SCHEDULED: () => scheduled,
      PENDING: () => 9_999,
    }),
  ];
  assert.deepEqual(firesAt('JobsStuckInAssigned', aged(2, 0)), from(10));
  assert.deepEqual(firesAt('JobsStuckByAge', aged(300, 600)), []);
  assert.deepEqual(firesAt('JobsStuckByAge', aged(301, 0)), from(7));
  assert.deepEqual(firesAt('JobsStuckByAge', aged(0, 601)), from(7));
});

test('H-ll: the better rules see one figure of two instances that export the same', () => {
  const aged = ['a', 'b'].map((instance) => ({
    name: 'jobs_oldest_age_seconds',
    labels: { instance, state: 'ASSIGNED' },
    at: () => 200,
  }));
  assert.deepEqual(firesAt('JobsStuckByAge', aged), []);
});

test('H-nn: HighJobFailureShare needs a volume, and is silent where nothing was created', () => {
  const ending = (failed: number, completed: number): Series[] => [
    counter('jobs_failed_total', failed, 'a'),
    counter('jobs_completed_total', completed, 'a'),
    counter('jobs_failed_total', failed, 'b'),
    counter('jobs_completed_total', completed, 'b'),
  ];
  assert.deepEqual(firesAt('HighJobFailureShare', ending(0, 0)), []);
  assert.deepEqual(firesAt('HighJobFailureShare', ending(1, 9)), []);
  assert.deepEqual(firesAt('HighJobFailureShare', ending(2, 8)), from(7));
  assert.deepEqual(firesAt('HighJobFailureShare', ending(0.5, 1)), [], 'fifteen are too few');
  // The plain rule takes failures of jobs that were created long ago for an infinite rate.
  const late = [counter('jobs_failed_total', 1), counter('jobs_created_total', 0)];
  assert.deepEqual(firesAt('HighJobFailureRate', late), from(7));
});

test('A-72: NoActiveWorkers fires when none is READY or BUSY, after two minutes', () => {
  const workers = (ready: (minute: number) => number, busy = 0): Series[] =>
    gauge('workers_in_state', { READY: ready, BUSY: () => busy, DRAINING: () => 3 });
  assert.deepEqual(
    firesAt(
      'NoActiveWorkers',
      workers(() => 1),
    ),
    [],
  );
  assert.deepEqual(
    firesAt(
      'NoActiveWorkers',
      workers(() => 0, 1),
    ),
    [],
  );
  assert.deepEqual(
    firesAt(
      'NoActiveWorkers',
      workers((m) => (m < 40 ? 1 : 0)),
    ),
    from(42),
  );
});
