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
      concurrency: start.concurrency ?? blueprint.concurrency?.(input) ?? null,
    },
    correlationId: start.correlationId ?? id,
    trace: start.trace ?? null,
    result: null,
    error: null,
    results: null,
    answer: null,
    decided: [],
    parent: start.parent ?? null,
    createdAt: 0,
    enteredAt: 0,
    endedAt: null,
  };
}
