import { refuse, transition } from 'capataz';
import { payloads } from '../contract/payloads.ts';
import { note, type Plan, recordOf, type TaskJob } from './record.ts';
import { failed, onPlan, planOf, resultRow, type TaskRow, type TaskRows } from './results.ts';
import type { TaskRules } from './rules.ts';

/** A user may cancel in every state in which a task waits. */
export const cancelRow: TaskRow = (job, signal) => {
  const { motivo, usuario } = payloads['tarea.cancelar'].parse(signal.data);
  // Reviewers decide on plans; the task is its owner's.
  if (usuario !== undefined && usuario !== job.input.usuario) return refuse('not_yours');
  failed(job, 'cancelled_by_user', motivo ?? 'the user has cancelled it');
  return transition('FALLIDA_LOGICA');
};

/** What happens to a plan that waits for a person. */
export function approvalRows(rules: TaskRules): TaskRows {
  return {
    'tarea.cancelar': cancelRow,
    'tarea.aprobar_plan': (job, signal) => {
      const { planId, hash, usuario } = payloads['tarea.aprobar_plan'].parse(signal.data);
      const problem = undecidable(job, { planId, hash, usuario }, rules);
      if (problem !== null) return refuse(problem);
      note(job, { approval: { planId, by: usuario ?? job.input.usuario } });
      return transition('EJECUTANDO_CODIGO');
    },
    'tarea.rechazar_plan': (job, signal) => {
      const { planId, comentario, usuario } = payloads['tarea.rechazar_plan'].parse(signal.data);
      const problem = undecidable(job, { planId, usuario }, rules);
      if (problem !== null) return refuse(problem);
      if (comentario === undefined) {
        failed(job, 'plan_rejected', 'the plan was rejected without a comment');
        return transition('FALLIDA_LOGICA');
      }
      note(job, { rejection: { planId, comment: comentario }, plan: null });
      return transition('PLANIFICANDO');
    },
    // A newer plan replaces the one that is shown, which can then be approved no more (B-037).
    'resultado.plan_generado': resultRow('resultado.plan_generado', rules, (job, payload) =>
      recordOf(job).plan?.hash === planOf(payload).hash ? null : onPlan(job, payload),
    ),
  };
}

interface Decision {
  readonly planId: string;
  readonly hash?: string | undefined;
  readonly usuario: string | undefined;
}

/** Why this decision can't be taken: it is about another plan, or not this user's. */
function undecidable(job: TaskJob, { planId, hash, usuario }: Decision, { reviewers }: TaskRules) {
  const isOwn = usuario === undefined || usuario === job.input.usuario;
  if (!isOwn && !reviewers.includes(usuario)) return 'not_yours';
  const { plan } = recordOf(job);
  return isAbout(plan, { planId, hash }) ? null : 'plan_outdated';
}

function isAbout(plan: Plan | null, { planId, hash }: Pick<Decision, 'planId' | 'hash'>): boolean {
  return plan?.planId === planId && (hash === undefined || hash === plan.hash);
}
