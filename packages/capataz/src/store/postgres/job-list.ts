import type { JobStatus } from '../../core/status.ts';
import { canonicalJson } from '../../std/json.ts';
import type { JobQuery } from '../contract.ts';
import { type Parameter, statementText } from './statements.ts';

/** The statement that lists hot or ended jobs, with the conditions of the query. */
export function jobList(
  name: 'list-hot' | 'list-ended',
  query: JobQuery,
  statuses: readonly JobStatus[],
): { text: string; parameters: Parameter[] } {
  const table = name === 'list-hot' ? 'j' : 'e';
  const parameters: Parameter[] = [];
  const conditions: string[] = [];
  const bind = (value: Parameter): string => `$${parameters.push(value)}`;
  const demand = (condition: string, value: Parameter | undefined): void => {
    if (value !== undefined) conditions.push(`${condition} ${bind(value)}`);
  };
  for (const [attribute, value] of Object.entries(query.attributes ?? {})) {
    const held = `a.name = ${bind(attribute)} AND a.value = md5(${bind(canonicalJson(value))})`;
    conditions.push(`EXISTS (SELECT 1 FROM attributes a WHERE ${held} AND a.job = ${table}.id)`);
  }
  if (query.correlationId !== undefined) {
    // The index is over the digest, since the id may be too long for one.
    const correlation = bind(query.correlationId);
    conditions.push(
      `i.correlation = ${correlation} AND left(i.correlation, 100) COLLATE "C" = left(${correlation}, 100)`,
    );
  }
  demand(`${table}.client =`, query.client);
  demand(`${table}.blueprint =`, query.blueprint);
  demand(`${table}.state =`, query.state);
  demand(`${table}.id <`, query.before);
  // Written out, from the closed set of statuses, so that the partial indexes apply.
  if (query.status !== undefined) {
    const list = statuses.map((status) => `'${status}'`).join(', ');
    conditions.push(`${table}.status IN (${list})`);
  }
  const where = conditions.length === 0 ? 'TRUE' : conditions.join(' AND ');
  // Written out, too: a plan for an unknown number of rows reads the records of all jobs to find one.
  const limited = statementText(name).replace('LIMIT 1', `LIMIT ${Math.trunc(query.limit)}`);
  return { text: limited.replace('WHERE TRUE', `WHERE ${where}`), parameters };
}
