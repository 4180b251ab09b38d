export type { Holder } from './lock.ts';
export { describeHolder, openSqliteStore, type SqliteStoreOptions } from './open.ts';
export type { SqliteStore } from './store.ts';
