import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createClient } from 'capataz/client';
import { Dice } from 'capataz/testing';
import { delay, systemClock } from '../../packages/capataz/src/std/clock.ts';
import { until } from '../../packages/capataz/src/testing/until.ts';
import { Scene } from './scene.ts';

const jobs = 250;
const downMs = 2_000;
/** Leases end 1.3 to 2 s after the kill, and then the takeover begins: shortly before it, or in its middle. */
const dropMs = [500, 1_400] as const;
const blueprints = fileURLToPath(new URL('blueprints', import.meta.url));

describe('the database goes away while one instance takes over from another', () => {
  let scene: Scene;
  const dice = new Dice(18);

  before(async () => {
    scene = await Scene.open({
      cluster: { blueprints },
      config: 'handler_lease = "2s"',
    });
  });

  after(() => scene.close());

  for (const round of [1, 2]) {
    it(`B-018 two instances: all ${jobs} jobs of the dead one end without an operator (${round})`, async (t) => {
      const dropAfterMs = dice.between(...dropMs);
      t.diagnostic(`the database goes ${dropAfterMs} ms after the kill`);
      const begun = join(scene.folder, `begun-${round}`);
      const gate = join(scene.folder, `gate-${round}`);
      const input = { begun, gate, log: scene.effects };
      const one = createClient({ url: scene.cluster.urlOf('server-1') });
      const items = Array.from({ length: jobs }, () => ({ input }));
      const started = await one.jobs.startMany('held', items);
      const ids = started.map((job) => ('jobId' in job ? job.jobId : assert.fail('refused')));
      await until(async () => (await lines(begun)).length === jobs);
      const logged = scene.cluster.logOf('server-2').length;
      scene.cluster.signal('server-1', 'SIGKILL');
      await scene.cluster.ended('server-1');
      await writeFile(gate, '');
      await delay(systemClock, dropAfterMs);
      await scene.postgres.stop();
      await delay(systemClock, downMs);
      await scene.postgres.start();
      const two = createClient({ url: scene.cluster.urlOf('server-2') });
      for (const id of ids) {
        const { status } = await two.jobs.wait(id, { timeout: '60s' });
        assert.equal(status, 'finished');
      }
      const messages = scene.cluster.logOf('server-2').slice(logged);
      const failed = messages.findIndex(({ message }) => /trying again|refuses/.test(message));
      const retried = messages.findLastIndex(({ message }) => /again$/.test(message));
      assert.ok(failed !== -1 && failed < retried, JSON.stringify(messages));
      const done = (await lines(scene.effects)).map((line) => line.split(' ')[0]);
      for (const id of ids) assert.ok(done.includes(id), `job ${id} has no effect`);
      await scene.cluster.startServer('server-1');
    });
  }
});

async function lines(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.split('\n').slice(0, -1);
}
