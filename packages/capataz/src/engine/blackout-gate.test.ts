import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blackoutCalendar } from '../compose/blackout-calendar.ts';
import { oneTask, startWorld, type World } from './fixtures.ts';

const minute = 60_000;
const hour = 60 * minute;

/** In Buenos Aires, which is three hours behind UTC. */
const blackouts = blackoutCalendar({
  night: { from: '22:00', to: '06:00', zone: 'America/Argentina/Buenos_Aires' },
});
const retry = { jitter: 0, base: '1ms' } as const;
const quiet = oneTask({ notDuring: 'night', retry }, { name: 'quiet' });
const loud = oneTask({ retry }, { name: 'loud' });

/** A world whose clock shows this time of day there. */
async function startAt(
  hours: number,
  minutes: number,
  options: { readonly shared?: boolean; readonly skewMs?: number } = {},
): Promise<World> {
  const world = await startWorld({ blueprints: [quiet, loud], blackouts, ...options });
  const wanted = ((hours + 3) % 24) * hour + minutes * minute;
  const passed = world.clock.now() % (24 * hour);
  await world.advance((wanted - passed + 24 * hour) % (24 * hour));
  return world;
}

test('A-44 B-070 a dispatch that names a blackout stays in the queue while it lasts, others pass', async () => {
  const world = await startAt(22, 0);
  const worker = await world.worker('w');
  const poll = worker.poll({ timeoutMs: 10 * hour });
  const id = await world.create('quiet');
  const other = await world.create('loud');
  await world.settle();
  const [passed] = await poll;
  assert.ok(passed?.jobId === other);
  await worker.report(passed);
  const again = (await world.worker('x')).poll({ timeoutMs: 10 * hour });
  await world.advance(8 * hour - 1_000);
  assert.equal((await world.task(id)).status, 'PENDING');
  assert.match(
    (await world.engine.jobs.why(id)).summary,
    /is queued; the blackout "night" keeps it there for 1s/,
  );
  await world.advance(1_000);
  assert.equal((await again)[0]?.jobId, id);
});

test('B-070 what was queued before the window and is asked for within it waits for its end, a retry too', async () => {
  const world = await startAt(21, 59);
  const worker = await world.worker('w');
  const [first, second] = [await world.create('quiet'), await world.create('quiet')];
  const task = await worker.takeOne();
  assert.equal(task.jobId, first);
  await world.advance(minute);
  assert.deepEqual(await worker.take(), [], 'from the first instant of the window');
  await worker.fail(task);
  await world.advance(8 * hour - minute);
  assert.deepEqual(await worker.take(), []);
  await world.advance(minute);
  const jobs = [(await worker.takeOne()).jobId];
  await worker.beat({ currentTasks: [] });
  assert.ok(jobs.every((job) => [first, second].includes(job)));
});

test('A-44 a restart within the window keeps it, and its end is noticed though the wall clock is set', async () => {
  const world = await startAt(23, 0);
  const id = await world.create('quiet');
  await world.restart();
  const poll = (await world.worker('w')).poll({ timeoutMs: 10 * hour });
  await world.advance(hour);
  assert.equal((await world.task(id)).status, 'PENDING');
  world.clock.step(7 * hour);
  await world.advance(minute);
  assert.equal((await poll)[0]?.jobId, id);
});

test('a name that is no blackout is an error of the handler, and one that is gone keeps nothing', async () => {
  const typo = oneTask({ notDuring: 'nihgt' }, { name: 'typo' });
  const world = await startWorld({ blueprints: [typo], blackouts });
  const job = await world.job(await world.create('typo'));
  const [failed] = await world.entries(job.id, 'handler_failed');
  assert.match(JSON.stringify(failed), /notDuring \\"nihgt\\", which is no blackout/);
  const before = await startAt(23, 0);
  const id = await before.create('quiet');
  before.kill();
  const options = { blueprints: [quiet] };
  const after = await before.beside(options);
  assert.equal((await (await after.worker('w')).takeOne()).jobId, id);
  assert.deepEqual(after.warnings, [
    'tasks name a blackout that there is no more; they are handed out',
  ]);
});

test('A-44 B-050 two instances: a server whose clock is hours off keeps a blackout by the time of the store', async () => {
  for (const skewMs of [-3 * hour, 0, 12 * hour]) {
    const world = await startAt(21, 59, { shared: true, skewMs });
    const worker = await world.worker('w');
    for (let made = 0; made < 2; made += 1) await world.create('quiet');
    await worker.report(await worker.takeOne());
    await world.advance(minute);
    assert.deepEqual(await worker.take(), [], `${skewMs} ms`);
  }
});
