export { MemoryData } from './data.ts';
export { createMemoryStore, type MemoryStoreOptions, openMemoryStore } from './store.ts';
