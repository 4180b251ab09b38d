import type { SQLInputValue } from 'node:sqlite';
import type { JobStatus } from '../../core/status.ts';
import { canonicalJson } from '../../std/json.ts';
import type { JobQuery } from '../contract.ts';
import { statementText } from './statements.ts';

/**
 * The statement that lists hot or ended jobs, with the conditions of the query. A list by attributes
 * walks the jobs that have the first of them, in the order of the list.
 */
export function jobList(
  name: 'list-hot' | 'list-ended',
  query: JobQuery,
  statuses: readonly JobStatus[],
): { text: string; parameters: SQLInputValue[] } {
  const table = name === 'list-hot' ? 'j' : 'e';
  const parameters: SQLInputValue[] = [query.limit];
  const conditions: string[] = [];
  const bind = (value: SQLInputValue): string => `?${parameters.push(value)}`;
  const demand = (condition: string, value: SQLInputValue | undefined): void => {
    if (value !== undefined) conditions.push(`${condition} ${bind(value)}`);
  };
  const attributes = Object.entries(query.attributes ?? {});
  const [id, from] =
    attributes.length === 0 ? [`${table}.id`, ''] : ['a0.job_id', 'attributes a0 CROSS JOIN '];
  for (const [index, [attribute, value]] of attributes.entries()) {
    const held = `a${index}.name = ${bind(attribute)} AND a${index}.value = ${bind(canonicalJson(value))}`;
    const own = `a${index}.job_id = ${table}.id`;
    conditions.push(
      index === 0
        ? `${held} AND ${own}`
        : `EXISTS (SELECT 1 FROM attributes a${index} WHERE ${held} AND ${own})`,
    );
  }
  if (query.correlationId !== undefined) {
    const correlation = bind(query.correlationId);
    conditions.push(
      `${table}.id IN (SELECT c.id FROM inputs c WHERE c.correlation = ${correlation})`,
    );
  }
  demand(`${table}.client =`, query.client);
  demand(`${table}.blueprint =`, query.blueprint);
  demand(`${table}.state =`, query.state);
  demand(`${id} <`, query.before);
  // Written out, from the closed set of statuses, so that the partial indexes apply.
  if (query.status !== undefined) {
    const list = statuses.map((status) => `'${status}'`).join(', ');
    conditions.push(
      statuses.length === 1 ? `${table}.status = ${list}` : `${table}.status IN (${list})`,
    );
  }
  const text = statementText(name)
    .replace('FROM ', `FROM ${from}`)
    .replace(`ORDER BY ${table}.id`, `ORDER BY ${id}`);
  const where = conditions.length === 0 ? 'TRUE' : conditions.join(' AND ');
  return { text: text.replace('WHERE TRUE', `WHERE ${where}`), parameters };
}
