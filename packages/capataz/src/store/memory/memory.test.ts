import { storeSuite } from '../../testing/store-suite.ts';
import { VirtualClock } from '../../testing/virtual-clock.ts';
import { MemoryData, openMemoryStore } from './index.ts';

storeSuite('memory', async () => {
  const clock = new VirtualClock();
  const data = new MemoryData();
  let store = openMemoryStore(data, { clock });
  return {
    store,
    clock,
    reopen: async () => {
      await store.close();
      store = openMemoryStore(data, { clock });
      return store;
    },
    close: () => store.close(),
  };
});
