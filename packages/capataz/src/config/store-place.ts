import type { Config } from './settings.ts';

/** Where the jobs are kept, in words for people: without user and password. */
export function storeName({ storeUrl, dataDir }: Pick<Config, 'storeUrl' | 'dataDir'>): string {
  if (storeUrl === null) return dataDir;
  if (!URL.canParse(storeUrl)) return 'the store of store_url';
  const { protocol, host, pathname, search } = new URL(storeUrl);
  return `${protocol}//${host}${pathname}${search}`;
}
