import type { Config } from '../config/settings.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import { MovableClock } from '../std/movable-clock.ts';
import type { Store } from '../store/contract.ts';
import { createMemoryStore } from '../store/memory/index.ts';
import { openPostgresStore } from '../store/postgres/index.ts';
import { openSqliteStore } from '../store/sqlite/index.ts';

export interface OpenedStore {
  readonly store: Store;
  /** Says to commands on the same data folder where its server listens. */
  readonly publishUrl: (url: string) => void;
}

/** Everything is lost when the process ends: for tests and simulations. */
const inMemory = 'memory:';

/** The store of the configuration. @throws CapatazError CONFIG_INVALID, STORE_IN_USE, STORE_NEWER, STORE_UNAVAILABLE */
export async function openStore(config: Config, clock: Clock, log: Log): Promise<OpenedStore> {
  const { storeUrl: url, storeDirectUrl: directUrl, dataDir: folder } = config;
  const { storeConnections: connections } = config;
  if (url === null) {
    const store = await openSqliteStore({ folder, clock });
    return { store, publishUrl: (at) => store.publishUrl(at) };
  }
  if (url === inMemory) {
    const store = createMemoryStore({ clock });
    return { store, publishUrl: () => undefined };
  }
  try {
    // The instances go by the server's clock; a test that moves time gives one.
    const given = clock instanceof MovableClock ? { clock } : {};
    const direct = directUrl === null ? {} : { directUrl };
    const store = await openPostgresStore({ url, ...direct, connections, log, ...given });
    return { store, publishUrl: () => undefined };
  } catch (error) {
    if (!(error instanceof CapatazError)) throw error;
    const { code, message, details } = error;
    throw new CapatazError(code, `store_url: ${message}`, details, error);
  }
}
