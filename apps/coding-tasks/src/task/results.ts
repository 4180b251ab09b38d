import { createHash } from 'node:crypto';
import { type Row, refuse, stay, transition } from 'capataz';
import { isTaskState, originators, type TaskState } from '../contract/names.ts';
import { type EventName, type Payload, payloads, type Usage } from '../contract/payloads.ts';
import { question } from './delegate.ts';
import { tell } from './news.ts';
import { note, type Plan, type Reason, recordOf, type TaskInput, type TaskJob } from './record.ts';
import type { TaskRules } from './rules.ts';

export type TaskRow = Row<TaskState, TaskInput>;
export type TaskRows = Readonly<Record<string, TaskRow>>;

/** What a peer may say at most, so that a job's data has room for all of it. */
const maxPlanChars = 1_000_000;
const maxDiffChars = 1_100_000;
const maxLogChars = 1_000_000;

type ResultName = Extract<EventName, `resultado.${string}`>;
const resultNames: readonly ResultName[] = [
  'resultado.plan_generado',
  'resultado.estado_actualizado',
  'resultado.pr_generada',
  'resultado.integracion_finalizada',
  'resultado.error',
];

/** What a result does in one state. Null: it moves nothing there. */
type Move<N extends ResultName> = (
  job: TaskJob,
  payload: Payload<N>,
) => ReturnType<typeof transition<TaskState>> | null;

/**
 * The rows of a state in which a service works. Whatever it says is a sign of life, also what moves
 * nothing; but not what belongs to an older delegation.
 */
export function resultRows(
  rules: TaskRules,
  moves: { readonly [N in ResultName]?: Move<N> },
): TaskRows {
  const all: { readonly [N in ResultName]?: Move<N> } = { 'resultado.error': onError, ...moves };
  const row = <N extends ResultName>(name: N): TaskRow => resultRow(name, rules, all[name]);
  return {
    ...Object.fromEntries(resultNames.map((name) => [name, row(name)])),
    'resultado.estado_actualizado': heartbeatRow(rules),
  };
}

/** @param move default: the result moves nothing here */
export function resultRow<N extends ResultName>(
  name: N,
  rules: TaskRules,
  move: Move<N> = () => null,
): TaskRow {
  return (job, signal) => {
    const payload = readPayload(name, signal.data);
    const stale = staleness(job, payload);
    if (stale !== null) return refuse(stale);
    if (learn(job, payload, rules)) return transition('FALLIDA_LOGICA');
    return move(job, payload) ?? stay(undefined, { note: 'ignored: unexpected' });
  };
}

/** What it says is passed on to the user. */
function heartbeatRow(rules: TaskRules): TaskRow {
  return (job, signal) => {
    const payload = readPayload('resultado.estado_actualizado', signal.data);
    const stale = staleness(job, payload);
    if (stale !== null) return refuse(stale);
    if (learn(job, payload, rules)) return transition('FALLIDA_LOGICA');
    if (isTaskState(job.state))
      tell(job, job.state, { motivo: 'heartbeat', resultado: { mensaje: payload.estado } });
    return stay(undefined, { ask: question(job) });
  };
}

function readPayload<N extends ResultName>(name: N, data: unknown): Payload<N> {
  // A schema of the table gives the payload of its own name.
  return payloads[name].parse(data) as Payload<N>;
}

function staleness(job: TaskJob, { intento }: { readonly intento?: number | undefined }) {
  const { attempt } = recordOf(job);
  if (intento === undefined || intento === attempt) return null;
  return `stale: it belongs to delegation ${intento}, and ${attempt} is the present one`;
}

interface Told {
  readonly sessionId?: string | undefined;
  readonly uso?: Usage | null | undefined;
}

/** Session and cost. @returns whether the task has become too dear */
function learn(job: TaskJob, { sessionId, uso }: Told, rules: TaskRules): boolean {
  if (sessionId !== undefined && sessionId !== '') note(job, { sessionId });
  return uso === undefined ? false : withCost(job, uso, rules);
}

/** Adds what a run or call has cost; null: it does not say. @returns whether that is too much */
export function withCost(
  job: Pick<TaskJob, 'data'>,
  usage: Usage | null,
  { costLimitUsd }: TaskRules,
): boolean {
  const task = recordOf(job);
  const cost = usage?.costeUsd ?? null;
  if (cost === null) note(job, { unknownCosts: task.unknownCosts + 1 });
  else note(job, { costUsd: task.costUsd + cost });
  const costUsd = task.costUsd + (cost ?? 0);
  if (costLimitUsd === 0 || costUsd <= costLimitUsd) return false;
  failed(
    job,
    'cost_limit',
    `it has cost $${costUsd.toFixed(2)}, and $${costLimitUsd} is the limit`,
  );
  return true;
}

/** Notes why the task ends. */
export function failed(
  job: Pick<TaskJob, 'data'>,
  code: string,
  message: string,
  service: string | null = null,
): void {
  note(job, { reason: { code, message, service } satisfies Reason });
}

const onError: Move<'resultado.error'> = (job, { codigo, mensaje, recuperable }) => {
  failed(job, codigo, mensaje, recordOf(job).awaited);
  return transition(recuperable ? 'FALLIDA_INFRAESTRUCTURA' : 'FALLIDA_LOGICA');
};

/** A plan is approved by its id, or by its hash too: whoever approves means what he saw. */
export function planOf({ planId, plan }: Payload<'resultado.plan_generado'>): Plan {
  return { planId, content: plan, hash: hashOf({ planId, plan }) };
}

function hashOf(content: object): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}

export const onPlan: Move<'resultado.plan_generado'> = (job, payload) => {
  const plan = planOf(payload);
  if (JSON.stringify(plan.content).length > maxPlanChars) {
    // Nobody could read it, and cut off it would be another plan.
    failed(job, 'plan_too_large', `the plan is longer than ${maxPlanChars} characters`);
    return transition('FALLIDA_LOGICA');
  }
  note(job, { plan, rejection: null });
  if (job.input.requiereAprobacionPlan) return transition('ESPERANDO_APROBACION_PLAN');
  note(job, { approval: { planId: plan.planId, by: 'system:auto_approval' } });
  return transition('EJECUTANDO_CODIGO');
};

export const onPullRequest: Move<'resultado.pr_generada'> = (job, { pullRequestUrl, diff }) => {
  note(job, { pullRequestUrl, diff: diff?.slice(0, maxDiffChars) ?? null });
  return transition('PROBANDO_INTEGRACION');
};

/** The rounds are counted in the job's data alone, so that no restart and no detour begins anew. */
export function onVerdict({ feedbackRounds }: TaskRules): Move<'resultado.integracion_finalizada'> {
  return (job, { exito, log }) => {
    if (exito) return transition('COMPLETADA');
    const { round, diff, failureHash: before } = recordOf(job);
    const failureHash = diff === null ? null : hashOf({ diff, log });
    note(job, { failureLog: log.slice(-maxLogChars), failureHash });
    if (failureHash !== null && failureHash === before) {
      const message = `the correction changed nothing: the same change has failed in the same way in round ${round}`;
      failed(job, 'no_progress', message, originators.smith);
      return transition('FALLIDA_LOGICA');
    }
    if (round > feedbackRounds) {
      const message = `the tests failed in round ${round}, after ${feedbackRounds} corrections`;
      failed(job, 'feedback_rounds_spent', message, originators.sandbox);
      return transition('FALLIDA_LOGICA');
    }
    note(job, { awaited: 'feedback' });
    const told = { log: log.slice(-maxLogChars), ronda: round };
    tell(job, 'ESPERANDO_FEEDBACK_INTERNO', { resultado: told });
    return transition('ESPERANDO_FEEDBACK_INTERNO');
  };
}
