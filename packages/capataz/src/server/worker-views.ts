import type { Task } from '../core/job.ts';
import { refusalReasons } from '../core/signal.ts';
import type { ReportAnswer } from '../engine/ports.ts';
import type { BatchResultAnswer, ResultAnswer, TaskBody } from '../protocol/worker-api.ts';
import { assert } from '../std/assert.ts';

/**
 * A task as RXON carries it: `task_id` is the attempt's id (S-18), absent members are left out. Its
 * timestamp is that of the hand-out, by the same clock as its deadline: this server's own may be another.
 */
export function taskBody({ jobId, spec, attempt, resultAt }: Task): TaskBody {
  assert(attempt !== null, 'a task that is handed out has a current attempt');
  return {
    ...(resultAt === null ? {} : { deadline: Math.floor(resultAt / 1_000) }),
    job_id: jobId,
    ...(spec.metadata === null ? {} : { metadata: spec.metadata }),
    params: spec.params,
    priority: spec.priority,
    task_id: attempt.id,
    timestamp: attempt.assignedAt / 1_000,
    tracing_context: spec.trace === null ? {} : { traceparent: spec.trace },
    type: spec.skill,
  };
}

/** For the batched forms, which are ours. */
export function batchTaskBody(task: Task): TaskBody {
  return { ...taskBody(task), correlation_id: task.spec.correlationId };
}

/** RXON's own answer: a late report is no error there, else its SDK would send it again (S-19). */
export function resultAnswer(answer: ReportAnswer): ResultAnswer {
  if (answer.type === 'accepted') return { status: 'accepted', transition: answer.transition };
  return { status: 'ignored', reason: answer.reason, message: refusalReasons[answer.reason] };
}

export function batchResultAnswer(answer: ReportAnswer): BatchResultAnswer {
  if (answer.type === 'accepted') return { status: 'accepted', transition: answer.transition };
  return {
    status: 'refused',
    code: 'ATTEMPT_NOT_CURRENT',
    reason: answer.reason,
    message: refusalReasons[answer.reason],
  };
}
