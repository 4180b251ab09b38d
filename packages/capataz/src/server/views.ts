import { isReserved } from '../core/answers.ts';
import type { Blueprint } from '../core/blueprint.ts';
import type { StoredEntry } from '../core/history.ts';
import type { ApprovalWait, Job, Wait } from '../core/job.ts';
import { isFinal } from '../core/status.ts';
import type { EnginePorts, Progress, WorkerState } from '../engine/ports.ts';
import type {
  ApprovalWaitView,
  BlueprintView,
  HistoryView,
  JobEventView,
  JobView,
  ProgressView,
  WaitView,
  WorkerView,
} from '../protocol/client-api.ts';
import type { ApprovalView } from '../protocol/signals-api.ts';
import { unreachable } from '../std/assert.ts';
import { type JsonValue, jsonWeight } from '../std/json.ts';
import type { JobEvent } from '../store/contract.ts';

/** Results of a fan-out above this are left out of a view: they are for the aggregator. */
const maxResultsWeight = 64 * 1024;

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
    wait: job.wait === null ? null : waitView(job, job.wait),
    answer: job.answer,
    results: resultsView(job),
    resume: resumeView(job),
    parent: job.parent?.jobId ?? null,
    concurrency: concurrencyView(job),
    attributes: job.options.attributes,
    metadata: job.options.metadata,
    correlation_id: job.correlationId,
    progress: progress === null ? null : progressView(progress),
    created_at: instant(job.createdAt),
    entered_at: instant(job.enteredAt),
    ended_at: job.endedAt === null ? null : instant(job.endedAt),
  };
}

function waitView(job: Job, wait: Wait): WaitView {
  switch (wait.type) {
    case 'task':
      return { type: 'task', task_id: wait.taskId };
    case 'parallel':
      return { type: 'parallel', count: wait.count, to: wait.to };
    case 'approval':
      return approvalWaitView(wait);
    case 'child':
      return { type: 'child', job_id: wait.jobId };
    case 'event':
      return { type: 'event', signals: Object.keys(wait.signals) };
    case 'timer':
      return { type: 'timer', key: wait.key === undefined ? null : ownKey(job, wait.key) };
    default:
      return unreachable(wait);
  }
}

function approvalWaitView(wait: ApprovalWait): ApprovalWaitView {
  const { type, id, message, show, hash, revision, escalated } = wait;
  const signals = Object.keys(wait.signals);
  return {
    type,
    id,
    message,
    show,
    hash,
    revision,
    escalated,
    decisions: decisionsOf(wait),
    signals,
  };
}

/** The words that a person may decide with. */
export function decisionsOf({ on }: ApprovalWait): string[] {
  return Object.keys(on).filter((decision) => !isReserved(decision));
}

export function approvalView(job: Job, wait: ApprovalWait): ApprovalView {
  const { id, message, show, hash, revision, escalated } = wait;
  return {
    job_id: job.id,
    blueprint: job.blueprint,
    state: job.state,
    wait: id,
    message,
    show,
    hash,
    revision,
    decisions: decisionsOf(wait),
    since: instant(job.enteredAt),
    escalated,
  };
}

function resultsView({ results }: Job): JobView['results'] {
  return results === null || jsonWeight(results, maxResultsWeight) > maxResultsWeight
    ? null
    : results;
}

function resumeView({ resume, state }: Job): JobView['resume'] {
  return resume === null ? null : { type: resume.type, state: resume.state ?? state };
}

/** A client's own keys are kept under its name, which it need not see. */
function ownKey({ client }: Job, key: string): string {
  return key.startsWith(`${client}/`) ? key.slice(client.length + 1) : key;
}

function concurrencyView(job: Job): JobView['concurrency'] {
  const { concurrency } = job.options;
  if (concurrency === null) return null;
  const { limit, onBusy } = concurrency;
  const key = ownKey(job, concurrency.key);
  return { key, limit, on_busy: onBusy };
}

export function progressView({ fraction, message }: Progress): ProgressView {
  return { fraction, message };
}

export function historyView(
  { seq, at, type, ...fields }: StoredEntry,
  correlationId: string,
): HistoryView {
  const fixed = { seq, at: instant(at), type, correlation_id: correlationId };
  const view: Record<string, JsonValue> & typeof fixed = fixed;
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) view[snakeCase(name)] = value;
  }
  return view;
}

export function jobEventView({ jobId, correlationId, entry }: JobEvent): JobEventView {
  return { job_id: jobId, entry: historyView(entry, correlationId) };
}

export function workerView({ worker, load, circuit, lastSeenAt }: WorkerState): WorkerView {
  return {
    id: worker.id,
    type: worker.type,
    status: worker.status,
    skills: worker.offer.skills,
    hot_skills: worker.offer.hotSkills,
    slots: worker.slots,
    load,
    circuit: circuit.state,
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

export function instant(ms: number): string {
  return new Date(ms).toISOString();
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
