/** PostgreSQL goes away in every way it can, and two servers with work in hand live on. */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { delay, systemClock } from '../../packages/capataz/src/std/clock.ts';
import { type Outage, outages } from './kinds.ts';
import { Scene } from './scene.ts';

describe('outages of PostgreSQL under two servers, workers and load', () => {
  let scene: Scene;

  before(async () => {
    scene = await Scene.open({
      postgres: { settings: { max_connections: 30, superuser_reserved_connections: 0 } },
    });
  });

  after(() => scene.close());

  for (const outage of outages) {
    it(`B-079 ${outage.name}`, (t) => survive(scene, outage, t));
  }

  it('what was accepted through all of this is done, and the book says what the workers did', async () => {
    assert.deepEqual(await scene.settle(), []);
  });
});

async function survive(scene: Scene, outage: Outage, t: TestContext): Promise<void> {
  const say=(x: string)=>process.stderr.write(`${Math.round(systemClock.steady())} ${x}\n`);
  say('probe');await scene.probe();say('probed');
  const pids = scene.pids();
  const logged = scene.troubles().map(({ length }) => length);
  const watch = scene.watch();
  const load = scene.load();
  await delay(systemClock, 500);
  const began = systemClock.steady();
  say('begin');const end = await outage.begin(scene);say('begun');
  try {
    const noticedMs = await scene.untilReady(false);
    t.diagnostic(`noticed after ${Math.round(noticedMs)} ms`);
    const orders = await scene.orders();
    await delay(systemClock, outage.lastsMs - (systemClock.steady() - began));
    assert.deepEqual(orders, [refused, refused]);
  } finally {
    say('end');await end();say('ended');
    const recoveredMs = await scene.untilReady(true);
    t.diagnostic(`back after ${Math.round(recoveredMs)} ms`);
    say('loadstop');await load.stop();say('probe');
    await scene.probe();say('probed');
    for (const [index, lines] of scene.troubles().entries()) {
      const news = lines.slice(logged[index]);
      t.diagnostic(`${news.length} lines: ${JSON.stringify(count(news.map(({ message }) => message)))}`);
    }
  }
  assert.deepEqual(await watch.stop(), []);
  assert.deepEqual(scene.pids(), pids);
}

const refused = { status: 503, retryAfter: '1' };

function count(texts: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const text of texts) counts[text] = (counts[text] ?? 0) + 1;
  return counts;
}
