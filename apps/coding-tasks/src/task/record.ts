import type { HandlerJob, JsonObject } from 'capataz';
import { z } from 'zod';

/** What a task is started with: `tarea.crear`, with every default filled in. */
export const taskInput = z.object({
  prompt: z.string().min(1),
  repositorioOrigen: z.string().min(1),
  ramaDestino: z.string().nullable(),
  requiereAprobacionPlan: z.boolean(),
  usuario: z.string().min(1),
  solicitudId: z.string().nullable(),
});
export type TaskInput = z.infer<typeof taskInput>;
export type TaskJob = HandlerJob<TaskInput>;

const plan = z.object({
  planId: z.string(),
  content: z.record(z.string(), z.json()),
  /** SHA-256 of id and content: what an approval may name beside the id. */
  hash: z.string(),
});
export type Plan = z.infer<typeof plan>;

const reason = z.object({
  code: z.string(),
  message: z.string(),
  /** The service that it is about. */
  service: z.string().nullable().default(null),
});
export type Reason = z.infer<typeof reason>;

/** What a task has come to: the job's data. */
export const taskRecord = z.object({
  /** Number of the present delegation: `intento` on the wire. Results of an older one don't count. */
  attempt: z.int().default(0),
  /** Rounds of code: 1, and one more for each correction. */
  round: z.int().default(0),
  /** Whose answer is awaited: a service, `feedback`, or `user`. */
  awaited: z.string().default(''),
  sessionId: z.string().default(''),
  plan: plan.nullable().default(null),
  /** Who approved which plan. */
  approval: z.object({ planId: z.string(), by: z.string() }).nullable().default(null),
  rejection: z.object({ planId: z.string(), comment: z.string() }).nullable().default(null),
  pullRequestUrl: z.string().nullable().default(null),
  diff: z.string().nullable().default(null),
  /** The log of the last failed integration test. */
  failureLog: z.string().nullable().default(null),
  /** SHA-256 of that log and the change that it was about; null where no change was told. */
  failureHash: z.string().nullable().default(null),
  /** What the feedback model made of it, until it is sent. */
  correction: z.string().nullable().default(null),
  /** The sum of what was reported. */
  costUsd: z.number().default(0),
  /** Runs and calls whose cost nobody told. */
  unknownCosts: z.int().default(0),
  /** Why it ended, where it did not end well. */
  reason: reason.nullable().default(null),
});
export type TaskRecord = z.infer<typeof taskRecord>;

export function recordOf({ data }: Pick<TaskJob, 'data'>): TaskRecord {
  return taskRecord.parse(data);
}

/** Changes the job's data, which is stored with the handler's action. */
export function note({ data }: { readonly data: JsonObject }, changes: Partial<TaskRecord>): void {
  Object.assign(data, changes);
}
