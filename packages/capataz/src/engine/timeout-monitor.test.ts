import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oneTask, startWorld } from './fixtures.ts';
import type { CycleResult, TimeoutMonitorOptions } from './timeout-monitor.ts';
import { defaultTimeoutMonitor } from './timeout-monitor.ts';

const minute = 60_000;
const bound = { requirements: { worker: 'w' } };

async function begin(options: Partial<TimeoutMonitorOptions> = {}, dispatch = {}) {
  const world = await startWorld({
    blueprints: [oneTask({ executionLimit: '10h', retry: { max: 0 }, ...dispatch })],
    timeoutMonitor: options,
  });
  const worker = await world.worker('w', { slots: 1_000, batch: true });
  return { world, worker };
}

function counts({ timedOutAssigned, timedOutScheduled, ...result }: CycleResult) {
  return { ...result, assigned: timedOutAssigned.length, scheduled: timedOutScheduled.length };
}

test('H-13 the monitor’s defaults are 5 min, 10 min, 30 s and 100', () => {
  assert.deepEqual(defaultTimeoutMonitor, {
    assignedTimeoutMs: 5 * minute,
    scheduledTimeoutMs: 10 * minute,
    checkIntervalMs: 30_000,
    batchSize: 100,
    enabled: true,
  });
});

async function failsAfter(limit: number, status: string, dispatch = {}): Promise<void> {
  const { world, worker } = await begin({}, dispatch);
  const id = await world.create('one-task');
  await worker.takeOne();
  await world.advance(limit - 1_000);
  assert.equal((await world.job(id)).status, 'waiting_for_worker');
  await world.advance(31_000);
  assert.equal(await world.taskSteps(id), `PENDING ${status} FAILED`);
  assert.equal((await world.job(id)).status, 'quarantined');
}

test('H-14 a task in ASSIGNED longer than its limit fails by the next cycle, not before', () =>
  failsAfter(5 * minute, 'ASSIGNED'));

test('H-15 a task in SCHEDULED has a limit of its own; that of ASSIGNED does not apply', () =>
  failsAfter(10 * minute, 'SCHEDULED', bound));

test('H-16 what is queued or runs is never touched, however old it is', async () => {
  const { world, worker } = await begin();
  const running = await world.create('one-task');
  const task = await worker.takeOne();
  await worker.beat({ currentTasks: [task.attempt?.id ?? ''] });
  const queued = await world.create('one-task');
  await world.advance(60 * minute);
  for (const id of [running, queued])
    assert.equal((await world.job(id)).status, 'waiting_for_worker');
});

test('H-17 H-18 at most 100 of a status in a cycle, the oldest first; the counts agree', async () => {
  const { world, worker } = await begin({ checkIntervalMs: 24 * 60 * minute });
  for (let n = 0; n < 250; n += 1) await world.create('one-task');
  await worker.take(250);
  await world.advance(5 * minute + 1);
  const results: unknown[] = [];
  for (let n = 0; n < 4; n += 1) results.push(counts(await world.engine.timeoutMonitor.cycle()));
  const result = (checked: number) => ({
    checked,
    recovered: checked,
    failed: 0,
    lostRaces: 0,
    assigned: checked,
    scheduled: 0,
  });
  assert.deepEqual(results, [result(100), result(100), result(50), result(0)]);
});

test('H-19 H-20 a decision that fails holds up no other, and a cycle that fails ends no monitor', async () => {
  const { world, worker } = await begin();
  const id = await world.create('one-task');
  await worker.takeOne();
  world.isStoreDown = true;
  await world.advance(6 * minute);
  world.isStoreDown = false;
  await world.advance(31_000);
  assert.equal((await world.job(id)).status, 'quarantined');
  assert.ok(world.errors.some((error) => error.includes('stuck attempts')));
});

test('H-21 H-22 H-f H-e the entry names limit, old status, who found it, and keeps the correlation', async () => {
  const { world, worker } = await begin();
  const id = await world.create('one-task', { correlationId: 'c-9' });
  await worker.takeOne();
  await world.advance(6 * minute);
  const [entry] = await world.entries(id, 'task_failed');
  assert.deepEqual(
    [entry?.taskFrom, entry?.taskTo, entry?.reason, entry?.actor],
    ['ASSIGNED', 'FAILED', 'assigned_timeout', 'system:timeout_monitor'],
  );
  const { error, correlationId } = await world.job(id);
  assert.deepEqual([error?.code, correlationId], ['ASSIGNED_TIMEOUT', 'c-9']);
});

test('H-h H-g where retries are left the task is queued anew, and the old attempt’s report is refused', async () => {
  const { world, worker } = await begin({}, { retry: { max: 2, base: '1s', jitter: 0 } });
  const id = await world.create('one-task');
  const old = await worker.takeOne();
  await world.advance(6 * minute);
  assert.match(await world.taskSteps(id), /ASSIGNED FAILED PENDING$/);
  const fresh = await worker.takeOne();
  assert.equal((await worker.report(old)).type, 'ignored');
  assert.equal((await worker.report(fresh)).type, 'accepted');
  assert.equal((await world.job(id)).status, 'finished');
});

test('H-a H-d a sign of work that comes in the middle of a cycle wins: a lost race, no failure', async () => {
  const { world, worker } = await begin({ checkIntervalMs: 24 * 60 * minute });
  const id = await world.create('one-task');
  const task = await worker.takeOne();
  await world.advance(5 * minute + 1);
  const release = world.stopAnswerOf('stuck');
  const cycle = world.engine.timeoutMonitor.cycle();
  await world.settle();
  await worker.beat({ currentTasks: [task.attempt?.id ?? ''] });
  release();
  await world.settle();
  assert.deepEqual(counts(await cycle), {
    checked: 1,
    recovered: 0,
    failed: 0,
    lostRaces: 1,
    assigned: 0,
    scheduled: 0,
  });
  assert.equal((await worker.report(task)).type, 'accepted');
  assert.equal((await world.job(id)).status, 'finished');
});

test('H-24 H-l H-j the monitor begins one interval after the start and stops with the engine', async () => {
  const { world, worker } = await begin();
  const id = await world.create('one-task');
  await worker.takeOne();
  await world.advance(4 * minute);
  await world.engine.stop({ drainMs: 0 });
  await world.advance(60 * minute);
  assert.equal((await world.job(id)).status, 'waiting_for_worker');
});

test('H-13 a monitor that is switched off does nothing', async () => {
  const { world, worker } = await begin({ enabled: false });
  const id = await world.create('one-task');
  await worker.takeOne();
  await world.advance(60 * minute);
  assert.equal((await world.job(id)).status, 'waiting_for_worker');
});

test('S-25 S-35 a task that waits behind others at its worker is given back uncounted, to whoever is free', async () => {
  const world = await startWorld({
    blueprints: [oneTask({ executionLimit: '10h', retry: { max: 0 } })],
  });
  const busy = await world.worker('busy', { slots: 1, batch: true });
  const ids = [await world.create('one-task'), await world.create('one-task')];
  const [first] = await busy.take(2);
  await busy.beat({ currentTasks: [first?.attempt?.id ?? ''] });
  const free = await world.worker('free');
  const polled = free.poll({ timeoutMs: 60 * minute });
  await world.advance(6 * minute);
  const [moved] = await polled;
  assert.equal(moved?.jobId, ids[1]);
  assert.deepEqual([moved?.lostRuns, moved?.failures], [0, 0]);
});
