import type { Blueprint } from '../core/blueprint.ts';
import type { StoredEntry } from '../core/history.ts';
import type { Job } from '../core/job.ts';
import { isFinal } from '../core/status.ts';
import type { EnginePorts, Progress, WorkerState } from '../engine/ports.ts';
import type {
  BlueprintView,
  HistoryView,
  JobEventView,
  JobView,
  ProgressView,
  WorkerView,
} from '../protocol/client-api.ts';
import type { JsonValue } from '../std/json.ts';
import type { JobEvent } from '../store/contract.ts';

/** The records of the core as the client's wire shows them. */
export function jobView(job: Job, jobs: EnginePorts['jobs']): JobView {
  const progress = isFinal(job.status) ? null : jobs.progress(job.id);
  return {
    id: job.id,
    blueprint: job.blueprint,
    blueprint_version: job.blueprintVersion,
    client: job.client,
    status: job.status,
    state: job.state,
    held: job.held,
    priority: job.options.priority,
    input: job.input,
    data: job.data,
    result: job.result,
    error: job.error,
    attributes: job.options.attributes,
    metadata: job.options.metadata,
    correlation_id: job.correlationId,
    progress: progress === null ? null : progressView(progress),
    created_at: instant(job.createdAt),
    entered_at: instant(job.enteredAt),
    ended_at: job.endedAt === null ? null : instant(job.endedAt),
  };
}

export function progressView({ fraction, message }: Progress): ProgressView {
  return { fraction, message };
}

export function historyView({ seq, at, type, ...fields }: StoredEntry): HistoryView {
  const view: Record<string, JsonValue> & { seq: number; at: string; type: string } = {
    seq,
    at: instant(at),
    type,
  };
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) view[snakeCase(name)] = value;
  }
  return view;
}

export function jobEventView({ jobId, entry }: JobEvent): JobEventView {
  return { job_id: jobId, entry: historyView(entry) };
}

export function workerView({ worker, load, lastSeenAt }: WorkerState): WorkerView {
  return {
    id: worker.id,
    type: worker.type,
    status: worker.status,
    skills: worker.offer.skills,
    hot_skills: worker.offer.hotSkills,
    slots: worker.slots,
    load,
    hostname: worker.hostname,
    registered_at: instant(worker.registeredAt),
    last_seen_at: instant(lastSeenAt),
  };
}

export function blueprintView({ name, version, start, states }: Blueprint): BlueprintView {
  return {
    name,
    version,
    start,
    states: [...states.values()].map((state) => ({
      name: state.name,
      to: [...state.to],
      end: state.end,
    })),
  };
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
