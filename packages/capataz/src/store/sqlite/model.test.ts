import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { modelTest } from '../../testing/store-suite-model.ts';
import { VirtualClock } from '../../testing/virtual-clock.ts';
import { openSqliteStore } from './index.ts';

modelTest('sqlite', async () => {
  const clock = new VirtualClock();
  const folder = mkdtempSync(join(tmpdir(), 'capataz-model-'));
  const store = await openSqliteStore({ folder, clock, synchronous: 'normal' });
  return {
    store,
    clock,
    reopen: () => Promise.reject(new Error('not used')),
    close: async () => {
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
});
