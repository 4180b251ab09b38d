import { fail, finish } from 'capataz';
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
  const resultado = outcomeOf(job, reason);
  tell(job, state, { motivo: reason.code, resultado });
  // Nothing was ordered before the first delegation, and nothing is under way after a verdict.
  if (recordOf(job).attempt > 0)
    job.emit(exchanges.orders, 'tarea.cancelar', { motivo: reason.code });
  return fail(`${reason.code}: ${reason.message}`);
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
