import { storeSuite } from '../../testing/store-suite.ts';
import { instancesSuite } from '../../testing/store-suite-instances.ts';
import { VirtualClock } from '../../testing/virtual-clock.ts';
import { MemoryData, openMemoryStore } from './index.ts';

for (const shared of [false, true]) {
  storeSuite(shared ? 'memory, shared' : 'memory', async () => {
    const clock = new VirtualClock();
    const data = new MemoryData();
    let store = openMemoryStore(data, { clock, shared });
    return {
      store,
      clock,
      reopen: async () => {
        await store.close();
        store = openMemoryStore(data, { clock, shared });
        return store;
      },
      close: () => store.close(),
    };
  });
}

instancesSuite('memory', async () => {
  const clock = new VirtualClock();
  const data = new MemoryData();
  const [one, two] = [0, 1].map(() => openMemoryStore(data, { clock, shared: true }));
  if (one === undefined || two === undefined) throw new Error('there must be two');
  return {
    one,
    two,
    clock,
    close: async () => void (await Promise.all([one.close(), two.close()])),
  };
});
