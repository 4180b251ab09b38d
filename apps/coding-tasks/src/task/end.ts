import { fail, finish, type Stop } from 'capataz';
import { exchanges, originators, type TerminalState } from '../contract/names.ts';
import { outcomeOf, tell } from './news.ts';
import { note, type Reason, recordOf, type TaskJob } from './record.ts';

export function complete(job: TaskJob) {
  const resultado = outcomeOf(job, null);
  tell(job, 'COMPLETADA', { resultado });
  return finish(resultado);
}

/** Ends the task as failed: the user is told why, and whoever still works on it that it is over. */
export function giveUp(job: TaskJob, state: TerminalState) {
  const reason = reasonOf(job);
  note(job, { reason });
  sayFailed(job, state, reason);
  return fail(`${reason.code}: ${reason.message}`);
}

/**
 * What the server's own commands end or park passes by every row and handler: user and services are
 * told all the same. A parked task keeps no reason, because it may be brought back.
 */
export function sayStopped(job: TaskJob, { how, reason: message, actor }: Stop): void {
  if (how === 'quarantined')
    return sayFailed(job, 'FALLIDA_INFRAESTRUCTURA', { code: 'internal', message, service: null });
  const by = actor === null ? '' : ` (${actor})`;
  const reason = { code: 'cancelled_by_operator', message: `${message}${by}`, service: null };
  note(job, { reason });
  sayFailed(job, 'FALLIDA_LOGICA', reason);
}

function sayFailed(job: TaskJob, state: TerminalState, reason: Reason): void {
  tell(job, state, { motivo: reason.code, resultado: outcomeOf(job, reason) });
  // Nothing was ordered before the first delegation, and nothing is under way after a verdict.
  if (recordOf(job).attempt > 0)
    job.emit(exchanges.orders, 'tarea.cancelar', { motivo: reason.code });
}

/** What a row has noted, else what the clock or the feedback model did. */
function reasonOf(job: TaskJob): Reason {
  const { reason, awaited } = recordOf(job);
  if (reason !== null) return reason;
  const service = Object.values(originators).some((name) => name === awaited) ? awaited : null;
  const ended = job.answer?.name;
  if (ended === 'silence')
    return { code: 'silence', message: `no sign of life from ${awaited}`, service };
  if (ended === 'timeout' && awaited === 'user')
    return { code: 'approval_timeout', message: 'nobody approved the plan in time', service };
  if (ended === 'timeout')
    return { code: 'state_limit', message: `${awaited} took too long`, service };
  if (ended === 'rejected')
    return { code: 'plan_rejected', message: 'the plan was rejected', service };
  if (awaited !== 'feedback')
    return { code: 'internal', message: 'the orchestrator has failed', service };
  return job.state === 'FALLIDA_LOGICA'
    ? { code: 'feedback_unusable', message: 'the feedback model gave no text', service }
    : { code: 'feedback_unreachable', message: 'the feedback model can’t be reached', service };
}
