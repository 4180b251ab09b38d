import { join } from 'node:path';
import type { Config } from 'capataz/server';

/** Where the books lie: the store of the jobs belongs to the server alone. */
export function booksFile({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, 'llm-books.sqlite');
}
