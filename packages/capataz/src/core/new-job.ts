import type { JsonObject, JsonValue } from '../std/json.ts';
import type { Blueprint } from './blueprint.ts';
import type { Concurrency, Job, Parent } from './job.ts';

/** What a job is started with; every default is filled in by `newJob`. */
export interface JobStart {
  readonly id: string;
  readonly client: string;
  readonly input: JsonValue;
  readonly priority?: number;
  readonly attributes?: JsonObject;
  readonly metadata?: JsonObject;
  readonly dispatchTimeoutMs?: number | null;
  readonly resultTimeoutMs?: number | null;
  readonly concurrency?: Concurrency | null;
  readonly correlationId?: string;
  readonly trace?: string | null;
  readonly parent?: Parent;
}

/** A job before its first decision: version 0, standing before its start state. */
export function newJob(blueprint: Blueprint, start: JobStart): Job {
  const { id, client, input } = start;
  return {
    id,
    version: 0,
    blueprint: blueprint.name,
    blueprintVersion: blueprint.version,
    client,
    status: 'pending',
    state: blueprint.start,
    entry: 0,
    hops: 0,
    emitted: 0,
    failures: 0,
    held: false,
    wait: null,
    lease: null,
    resume: null,
    input,
    data: {},
    options: {
      priority: start.priority ?? 0,
      attributes: start.attributes ?? {},
      metadata: start.metadata ?? {},
      dispatchTimeoutMs: start.dispatchTimeoutMs ?? null,
      resultTimeoutMs: start.resultTimeoutMs ?? null,
      concurrency: start.concurrency ?? ownConcurrency(blueprint, input),
    },
    correlationId: start.correlationId ?? id,
    trace: start.trace ?? null,
    result: null,
    error: null,
    results: null,
    answer: null,
    unread: false,
    decided: [],
    parent: start.parent ?? null,
    createdAt: 0,
    enteredAt: 0,
    endedAt: null,
  };
}

/** @throws Error where the blueprint's function gives no key, limit and rule. */
function ownConcurrency({ name, concurrency }: Blueprint, input: JsonValue): Concurrency | null {
  const own = concurrency?.(input) ?? null;
  const problem = own === null ? null : concurrencyProblem(own);
  if (problem === null) return own;
  throw new Error(`blueprint "${name}": concurrency gives ${problem}`);
}

/** Names are keys of an index. */
const longestAttribute = 200;

/** What is wrong with attributes, or null. */
export function attributesProblem(attributes: JsonObject): string | null {
  const long = Object.keys(attributes).find((name) => name.length > longestAttribute);
  if (long === undefined) return null;
  return `an attribute whose name is longer than ${longestAttribute} characters: ${long.slice(0, 50)}…`;
}

/** What is wrong with a concurrency key, or null. */
export function concurrencyProblem({ key, limit, onBusy }: Concurrency): string | null {
  if (typeof key !== 'string' || key === '' || key.length > 500) return 'a key that is none';
  if (!Number.isInteger(limit) || limit < 1) return `the limit ${limit}; it must be 1 or more`;
  return ['queue', 'skip', 'refuse'].includes(onBusy) ? null : `onBusy ${JSON.stringify(onBusy)}`;
}
