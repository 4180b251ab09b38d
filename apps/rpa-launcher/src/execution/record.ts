import type { HandlerJob, JsonValue } from 'capataz';
import { z } from 'zod';

/** What an execution was started for. It never changes. */
export const executionInput = z.object({
  /** `programada`: a slot of a schedule; `ciclica`, `online`: again and again; `manual`: somebody's wish. */
  origin: z.enum(['programada', 'ciclica', 'online', 'manual']),
  robotId: z.int(),
  robot: z.string(),
  /** Of the device when the execution began; it may be registered anew meanwhile. */
  deviceId: z.int(),
  /** The host name, as it is written. */
  device: z.string(),
  scheduleId: z.int().nullable(),
  /** The theoretical local date and hour of the slot. */
  date: z.string().nullable(),
  hour: z.string().nullable(),
  startsAt: z.number(),
  /** The last instant at which it may be deployed. */
  endsAt: z.number(),
  /** JSON of the bot input that was given for this execution alone. */
  botInput: z.json().nullable(),
  by: z.string().nullable(),
});
export type ExecutionInput = z.infer<typeof executionInput>;
export type Origin = ExecutionInput['origin'];

const instant = z.number().nullable();
export const executionRecord = z.object({
  /** Deploy calls, each with a number of its own. */
  attempt: z.int().default(0),
  /** The host's present ids, as the last deploy call had them. */
  deviceId: z.int().nullable().default(null),
  userId: z.int().nullable().default(null),
  orderedAt: instant.default(null),
  deploymentId: z.string().nullable().default(null),
  deployedAt: instant.default(null),
  /** Look-ups that found nothing since the call whose outcome nobody knows. */
  absences: z.int().default(0),
  firstAbsenceAt: instant.default(null),
  lastAbsenceAt: instant.default(null),
  firstUnknownAt: instant.default(null),
  lastUnknownAt: instant.default(null),
  /** IntentosConciliadorFallidos */
  misses: z.int().default(0),
  /** The last instant at which somebody saw it queued, running or paused. */
  lastSeenAt: instant.default(null),
  startedAt: instant.default(null),
  startedInPause: z.boolean().default(false),
  endedAt: instant.default(null),
  /** Its device is free for others, though its end is not known. */
  isReleased: z.boolean().default(false),
  callback: z
    .object({ status: z.string(), body: z.string(), at: z.number() })
    .nullable()
    .default(null),
  /** Why it waits, was left out or failed. */
  reason: z.string().nullable().default(null),
  /** Who wants it stopped, and whether the Control Room was asked to. */
  stop: z.object({ by: z.string(), isAsked: z.boolean() }).nullable().default(null),
});
export type ExecutionRecord = z.infer<typeof executionRecord>;
export type ExecutionJob = HandlerJob<ExecutionInput>;

export function recordOf({ data }: { readonly data: unknown }): ExecutionRecord {
  return executionRecord.parse(data);
}

export function note(job: ExecutionJob, changes: Partial<ExecutionRecord>): void {
  const known: Partial<Record<string, JsonValue>> = changes;
  Object.assign(job.data, known);
}

/** What a device is known by: host names stay when ids change (S-87). */
export function hostOf(device: string): string {
  return device.trim().toLowerCase();
}

export function deviceKey(device: string): string {
  return `equipo:${hostOf(device)}`;
}

/** Finds the execution of a callback that brings nothing but the deployment. */
export function deploymentKey(deploymentId: string): string {
  return `deployment:${deploymentId}`;
}

/** Unique a deploy call, and what a look-up asks for. */
export function automationName(jobId: string, attempt: number): string {
  return `capataz-${jobId}-${attempt}`;
}
