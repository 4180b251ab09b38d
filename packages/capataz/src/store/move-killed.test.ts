import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { VirtualClock } from '../testing/virtual-clock.ts';
import type { Place } from './fixtures/place.ts';
import { Places } from './fixtures/places.ts';

const places = new Places();
const program = fileURLToPath(new URL('./fixtures/killed-move.ts', import.meta.url));
const conditions = ['--conditions=capataz-source', '--disable-warning=ExperimentalWarning'];

/** Moves in a process that dies at this step. */
function moveUntil(dieAt: string, from: Place, to: Place): void {
  const order = JSON.stringify({ url: places.schemas.url, from, to, dieAt });
  const { signal, stderr } = spawnSync(process.execPath, [...conditions, program, order], {
    encoding: 'utf8',
  });
  assert.equal(signal, 'SIGKILL', stderr);
}

const ways = [
  ['sqlite', 'postgres'],
  ['postgres', 'sqlite'],
] as const;

describe('a move that is killed', () => {
  for (const [from, to] of ways) {
    it(`S-50 from ${from} to ${to} leaves the source as it was and the target refused, and is run again`, async () => {
      const clock = new VirtualClock();
      const { place: source, everything } = await places.full(from, clock);
      const target = places.new(to);
      for (const step of ['begun', 'copied task', 'copied mark', 'compared history', 'verified']) {
        moveUntil(step, source, target);
        await assert.rejects(places.open(target, clock), { code: 'STORE_INCOMPLETE' }, step);
        assert.deepEqual(await places.everything(source, clock), everything, step);
      }
      const report = await places.move(source, target);
      assert.equal(report.isResumed, false);
      assert.deepEqual(await places.everything(target, clock), everything);
      await assert.rejects(places.open(source, clock), { code: 'STORE_MOVED' });
      await places.remove(source, target);
    });

    it(`S-50 from ${from} to ${to} between the two last marks leaves none to be used, and ends when it is run again`, async () => {
      const clock = new VirtualClock();
      const { place: source, everything } = await places.full(from, clock);
      const target = places.new(to);
      moveUntil('source_marked', source, target);
      await assert.rejects(places.open(source, clock), { code: 'STORE_MOVED' });
      await assert.rejects(places.open(target, clock), { code: 'STORE_INCOMPLETE' });
      await assert.rejects(places.move(source, places.new('sqlite')), {
        code: 'STORE_MOVED',
      });
      assert.deepEqual(await places.move(source, target), { isResumed: true, kinds: [] });
      assert.deepEqual(await places.everything(target, clock), everything);
      await places.remove(source, target);
    });
  }
});
