/** Filter, sort and page of the Control Room's lists. */

export interface Listed {
  readonly list: readonly Item[];
  readonly page?: { readonly offset: number; readonly total: number; readonly totalFilter: number };
}

export type Item = Readonly<Record<string, unknown>>;

/** Answered as 400. */
export class QueryError extends Error {
  override readonly name = 'QueryError';
}

export interface ListRules {
  /** Fields that can be filtered by; null: any. */
  readonly filterable: readonly string[] | null;
  readonly pageCap: number;
  readonly answersTotals: boolean;
}

/** @throws QueryError */
export function listed(items: readonly Item[], query: Item, rules: ListRules): Listed {
  const fitting = items.filter((item) => fits(query.filter, item, rules));
  const sorted = sort(fitting, query.sort);
  const page = objectOf(query.page);
  const offset = numberOf(page?.offset, 0);
  const length = Math.min(numberOf(page?.length, rules.pageCap), rules.pageCap);
  const list = sorted.slice(offset, offset + length);
  if (!rules.answersTotals) return { list };
  return { list, page: { offset, total: items.length, totalFilter: fitting.length } };
}

/** Values that a field must have by this filter, where it says so plainly; else null. */
export function valuesAsked(filter: unknown, field: string): readonly string[] | null {
  const node = objectOf(filter);
  if (node === null) return null;
  if (node.operator === 'eq' && node.field === field) return [String(node.value)];
  const operands = Array.isArray(node.operands) ? node.operands : [];
  const asked = operands.map((operand) => valuesAsked(operand, field));
  if (node.operator === 'and') return asked.find((values) => values !== null) ?? null;
  if (node.operator !== 'or' || asked.length === 0) return null;
  return asked.every((values) => values !== null) ? asked.flat() : null;
}

function fits(filter: unknown, item: Item, rules: ListRules): boolean {
  const node = objectOf(filter);
  if (node === null) return true;
  const operands: readonly unknown[] = Array.isArray(node.operands) ? node.operands : [];
  switch (node.operator) {
    case 'NONE':
      return true;
    case 'and':
      return operands.every((operand) => fits(operand, item, rules));
    case 'or':
      return operands.some((operand) => fits(operand, item, rules));
    case 'not':
      return !operands.some((operand) => fits(operand, item, rules));
    default:
      return fitsLeaf(node, item, rules);
  }
}

function fitsLeaf({ operator, field, value }: Item, item: Item, rules: ListRules): boolean {
  const name = String(field);
  if (rules.filterable !== null && !rules.filterable.includes(name))
    throw new QueryError(`Field ${name} cannot be filtered`);
  const theirs = String(item[name] ?? '');
  const asked = String(value ?? '');
  const order = compare(theirs, asked);
  switch (operator) {
    case 'eq':
      return theirs === asked;
    case 'ne':
      return theirs !== asked;
    case 'lt':
      return order < 0;
    case 'le':
      return order <= 0;
    case 'gt':
      return order > 0;
    case 'ge':
      return order >= 0;
    case 'substring':
      return theirs.toLowerCase().includes(asked.toLowerCase());
    default:
      throw new QueryError(`Unknown operator ${String(operator)}`);
  }
}

function sort(items: readonly Item[], order: unknown): readonly Item[] {
  const first = Array.isArray(order) ? objectOf(order[0]) : null;
  if (first === null) return items;
  const name = String(first.field);
  const sign = first.direction === 'desc' ? -1 : 1;
  return items.toSorted((a, b) => sign * compare(String(a[name] ?? ''), String(b[name] ?? '')));
}

function compare(a: string, b: string): number {
  const difference = Number(a) - Number(b);
  if (!Number.isNaN(difference) && a !== '' && b !== '') return difference;
  return a < b ? -1 : Number(a > b);
}

function objectOf(value: unknown): Item | null {
  // Checked to be an object, whose fields are unknown.
  return typeof value === 'object' && value !== null ? (value as Item) : null;
}

function numberOf(value: unknown, otherwise: number): number {
  return typeof value === 'number' && value >= 0 ? value : otherwise;
}
