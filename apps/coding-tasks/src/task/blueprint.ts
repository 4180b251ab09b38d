import { approval, type Blueprint, blueprint, transition } from 'capataz';
import { originators, type TaskState } from '../contract/names.ts';
import { awaitAnswer, order, placeOf } from './delegate.ts';
import { complete, giveUp, sayStopped } from './end.ts';
import { runFeedback } from './feedback.ts';
import { tell } from './news.ts';
import { note, recordOf, type TaskInput, type TaskJob, taskInput } from './record.ts';
import { onPlan, onPullRequest, onVerdict, resultRows } from './results.ts';
import type { TaskRules } from './rules.ts';
import { approvalRows, cancelRow } from './user-rows.ts';

export const blueprintName = 'coding-task';

/**
 * The life of a coding task. Each arrow is one commit: state, deadlines, the order to the next
 * service and what the user is told are stored together, or none of them is.
 */
export function taskBlueprint(rules: TaskRules): Blueprint {
  const cancellable = { 'tarea.cancelar': cancelRow };
  return blueprint<TaskState, TaskInput>({
    name: blueprintName,
    version: 1,
    input: taskInput,
    // While the feedback model thinks, nothing can be cancelled: the wish is kept until it has.
    early: ['tarea.cancelar'],
    // An operator's cancel and what the engine gives up stay within the ten states.
    ends: {
      failed: 'FALLIDA_LOGICA',
      cancelled: 'FALLIDA_LOGICA',
      quarantined: 'FALLIDA_INFRAESTRUCTURA',
    },
    onStop: sayStopped,
    states: {
      NUEVA: {
        start: true,
        to: ['PLANIFICANDO'],
        handle: (job) => {
          tell(job, 'NUEVA');
          return transition('PLANIFICANDO');
        },
      },
      PLANIFICANDO: {
        to: [
          'ESPERANDO_APROBACION_PLAN',
          'EJECUTANDO_CODIGO',
          'FALLIDA_LOGICA',
          'FALLIDA_INFRAESTRUCTURA',
        ],
        on: { ...cancellable, ...resultRows(rules, { 'resultado.plan_generado': onPlan }) },
        handle: (job) => {
          orderPlan(job);
          tell(job, 'PLANIFICANDO');
          return awaitAnswer(job, 'PLANIFICANDO', rules);
        },
      },
      ESPERANDO_APROBACION_PLAN: {
        to: ['PLANIFICANDO', 'ESPERANDO_APROBACION_PLAN', 'EJECUTANDO_CODIGO', 'FALLIDA_LOGICA'],
        on: approvalRows(rules),
        handle: (job) => askForApproval(job, rules),
      },
      EJECUTANDO_CODIGO: {
        to: [
          'MONITOREANDO_EJECUCION',
          'PROBANDO_INTEGRACION',
          'FALLIDA_LOGICA',
          'FALLIDA_INFRAESTRUCTURA',
        ],
        on: { ...cancellable, ...resultRows(rules, { 'resultado.pr_generada': onPullRequest }) },
        handle: (job) => {
          orderCode(job);
          tell(job, 'EJECUTANDO_CODIGO');
          return awaitAnswer(job, 'EJECUTANDO_CODIGO', rules);
        },
      },
      MONITOREANDO_EJECUCION: { parent: 'EJECUTANDO_CODIGO' },
      PROBANDO_INTEGRACION: {
        to: [
          'COMPLETADA',
          'ESPERANDO_FEEDBACK_INTERNO',
          'FALLIDA_LOGICA',
          'FALLIDA_INFRAESTRUCTURA',
        ],
        on: {
          ...cancellable,
          ...resultRows(rules, { 'resultado.integracion_finalizada': onVerdict(rules) }),
        },
        handle: (job) => {
          orderTest(job);
          tell(job, 'PROBANDO_INTEGRACION');
          return awaitAnswer(job, 'PROBANDO_INTEGRACION', rules);
        },
      },
      ESPERANDO_FEEDBACK_INTERNO: {
        to: ['EJECUTANDO_CODIGO', 'FALLIDA_LOGICA', 'FALLIDA_INFRAESTRUCTURA'],
        timeout: `${rules.feedbackTimeoutMs}ms`,
        retry: {
          max: rules.feedbackRetries,
          then: 'FALLIDA_INFRAESTRUCTURA',
          classes: { unusable: { max: rules.feedbackRetries, then: 'FALLIDA_LOGICA' } },
        },
        run: (job) => runFeedback(job, rules),
      },
      COMPLETADA: { end: true, handle: complete },
      FALLIDA_LOGICA: { end: 'failed', handle: (job) => giveUp(job, 'FALLIDA_LOGICA') },
      FALLIDA_INFRAESTRUCTURA: {
        end: 'failed',
        handle: (job) => giveUp(job, 'FALLIDA_INFRAESTRUCTURA'),
      },
    },
  });
}

function orderPlan(job: TaskJob): void {
  const { rejection, sessionId } = recordOf(job);
  const again =
    rejection === null
      ? {}
      : { comentario: rejection.comment, planRechazado: rejection.planId, sessionId };
  order(
    job,
    { name: 'tarea.generar_plan', to: originators.smith },
    { prompt: job.input.prompt, ...placeOf(job), ...again },
  );
}

function askForApproval(job: TaskJob, { approvalLimitMs }: TaskRules) {
  const { plan } = recordOf(job);
  if (plan === null) throw new Error('a plan is approved that there is none of');
  note(job, { awaited: 'user' });
  const { planId, content, hash } = plan;
  tell(job, 'ESPERANDO_APROBACION_PLAN', { resultado: { planId, plan: content, hash } });
  return approval({
    message: 'Shall this plan be carried out?',
    show: { planId, plan: content },
    revision: planId,
    on: { approved: 'EJECUTANDO_CODIGO', rejected: 'FALLIDA_LOGICA', timeout: 'FALLIDA_LOGICA' },
    ...(approvalLimitMs > 0 ? { deadline: `${approvalLimitMs}ms` } : {}),
  });
}

/** The first round carries out the plan, every further one a correction. */
function orderCode(job: TaskJob): void {
  const { plan, approval: given, correction, sessionId, round, pullRequestUrl } = recordOf(job);
  if (plan === null) throw new Error('a plan is carried out that there is none of');
  const ronda = round + 1;
  if (correction !== null) {
    order(
      job,
      {
        name: 'tarea.enviar_feedback',
        to: originators.smith,
        changes: { round: ronda, correction: null },
      },
      {
        ...{ sessionId, promptCorreccion: correction, ronda, ...placeOf(job) },
        ...(pullRequestUrl === null ? {} : { pullRequestUrl }),
      },
    );
    return;
  }
  const { planId, content, hash } = plan;
  // Approved by way of the server's own approvals, which know who it was.
  const by = given?.by ?? approverOf(job);
  order(
    job,
    {
      name: 'tarea.aprobar_plan',
      to: originators.smith,
      changes: { round: ronda, approval: { planId, by } },
    },
    {
      ...{ planId, plan: content, hash, usuario: by, sessionId, ronda },
      ...{ prompt: job.input.prompt, ...placeOf(job) },
    },
  );
}

function approverOf({ answer, input }: TaskJob): string {
  const data = answer?.data;
  const isObject = typeof data === 'object' && data !== null && !Array.isArray(data);
  return isObject && typeof data.approver === 'string' ? data.approver : input.usuario;
}

function orderTest(job: TaskJob): void {
  const { pullRequestUrl, round } = recordOf(job);
  if (pullRequestUrl === null) throw new Error('a change is tested that there is none of');
  order(
    job,
    { name: 'tarea.probar_integracion', to: originators.sandbox },
    { pullRequestUrl, ronda: round, ...placeOf(job) },
  );
}
