export { openPostgresStore, type PostgresStoreOptions } from './open.ts';
