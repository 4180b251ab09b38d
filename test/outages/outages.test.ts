/** PostgreSQL goes away in every way it can, and two servers with work in hand live on. */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { delay, systemClock } from '../../packages/capataz/src/std/clock.ts';
import type { LogLine } from '../chaos/cluster.ts';
import { endIdleConnections, maxConnections, type Outage, outages } from './kinds.ts';
import { Scene } from './scene.ts';
import { Volume } from './volume.ts';
import type { Reply } from './watch.ts';

describe('outages of PostgreSQL under two servers, workers and load', () => {
  let scene: Scene;
  let volume: Volume;

  before(async () => {
    volume = await Volume.mount();
    const settings = {
      max_connections: maxConnections,
      superuser_reserved_connections: 0,
      min_wal_size: '2MB',
    };
    scene = await Scene.open({ postgres: { settings, folder: volume.folder } });
  });

  after(async () => {
    await scene.close();
    await volume.close();
  });

  for (const outage of outages) it(`B-079 ${outage.name}`, (t) => survive(scene, outage, t));

  it('B-079 the volume of the database is full', (t) =>
    survive(scene, volume.outage(scene.postgres), t));

  it('B-079 single idle connections are ended', async () => {
    const pids = scene.pids();
    await scene.probe();
    for (let round = 0; round < 5; round += 1) {
      await endIdleConnections(scene.postgres.url);
      await scene.probe();
    }
    assert.deepEqual(scene.pids(), pids);
    await scene.untilReady(true);
  });

  it('B-079 PostgreSQL is restarted while nobody asks for anything', async () => {
    const pids = scene.pids();
    await scene.postgres.stop();
    await scene.untilReady(false);
    await scene.postgres.start();
    await scene.untilReady(true);
    await scene.probe();
    assert.deepEqual(scene.pids(), pids);
  });

  it('A-60 what was accepted through all of this is done, and the book says what the workers did', async () => {
    assert.deepEqual(await scene.settle(), []);
  });
});

/** The store's trouble is told by six parts at most; the rest is about the workers, one by one. */
/** Once, and once more where it comes back within. */
const mostTimes = 2;
const mostLines = 40;
function isOfOutage({ level, message }: LogLine): boolean {
  return level === 'error' || / again$/.test(message);
}

async function survive(scene: Scene, outage: Outage, t: TestContext): Promise<void> {
  await scene.probe();
  const pids = scene.pids();
  const logged = scene.logs().map(({ length }) => length);
  const watch = scene.watch();
  const load = scene.load();
  try {
    await delay(systemClock, 500);
    const began = systemClock.steady();
    const end = await outage.begin(scene);
    let orders: Reply[];
    try {
      t.diagnostic(`noticed after ${Math.round(await scene.untilReady(false))} ms`);
      orders = await scene.orders();
      await delay(systemClock, outage.lastsMs - (systemClock.steady() - began));
    } finally {
      await end();
    }
    t.diagnostic(`back after ${Math.round(await scene.untilReady(true))} ms`);
    for (const { status, retryAfter } of orders)
      if (outage.comesAndGoes !== true || status !== 202)
        assert.deepEqual({ status, retryAfter }, { status: 503, retryAfter: '1' });
  } finally {
    await load.stop();
    assert.deepEqual(await watch.stop(), []);
  }
  await scene.probe();
  assert.deepEqual(scene.pids(), pids);
  for (const [index, log] of scene.logs().entries()) {
    const news = log.slice(logged[index]);
    const told = news.filter(isOfOutage).map(({ message }) => message);
    // On a busy machine an outage may end for a moment before it is over.
    const often = [...new Set(told)].filter(
      (message) => told.filter((other) => other === message).length > mostTimes,
    );
    if (outage.comesAndGoes !== true) assert.deepEqual(often, [], 'a part told it again and again');
    assert.ok(news.length <= mostLines, `${news.length} lines`);
  }
}
