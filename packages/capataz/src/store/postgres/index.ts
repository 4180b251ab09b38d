export { openPostgresStore, type PostgresStoreOptions } from './open.ts';
export type { PostgresStore } from './store.ts';
