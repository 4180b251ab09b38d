import { type Blueprint, blueprint, finish, holding, transition, waitFor } from 'capataz';
import { isAllInPause } from '../planning/pause.ts';
import {
  deviceKey,
  type ExecutionInput,
  type ExecutionJob,
  executionInput,
  note,
  recordOf,
} from './record.ts';
import {
  type ExecutionAction,
  earlyCallbackRow,
  lookUpRows,
  orderRow,
  outcomeRows,
  runRows,
  unconfirmedReleaseRow,
  waitingRows,
} from './rows.ts';
import { rulesOf } from './rules.ts';
import { activeStates, type ExecutionState, finalStates, isFinal } from './states.ts';

export const blueprintName = 'ejecucion';

/** Windows are told to the second: one that ends at 09:00 takes all of 09:00:00. */
const secondMs = 1_000;

const afterRun: ExecutionState[] = [
  ...activeStates,
  'UNKNOWN',
  ...finalStates,
  'COMPLETED_INFERRED',
];
const active = { to: afterRun, on: runRows, handle: whileItRuns };
const afterCall: ExecutionState[] = ['PENDIENTE', 'DEPLOYED', 'DEPLOY_FAILED', 'SIN_CONFIRMAR'];

/**
 * The life of one execution, from its slot to its end. The intent to deploy is a commit of its own in
 * front of the call, which also takes the device; a call whose outcome is lost is a state of its own.
 */
export const executionBlueprint: Blueprint = blueprint<ExecutionState, ExecutionInput>({
  name: blueprintName,
  version: 1,
  input: executionInput,
  ends: { failed: 'DEPLOY_FAILED', cancelled: 'RUN_ABORTED' },
  states: {
    PENDIENTE: {
      start: true,
      to: ['DESPLEGANDO', 'DEPLOYED', 'OMITIDA'],
      on: waitingRows,
      handle: whileItWaits,
    },
    DESPLEGANDO: {
      to: [...afterCall, 'DESPLEGANDO'],
      on: { ...outcomeRows, desplegar: orderRow, callback: earlyCallbackRow },
      handle: (job) =>
        waitFor({ deadline: `${rulesOf(job).answerMs}ms`, on: { timeout: 'SIN_CONFIRMAR' } }),
    },
    SIN_CONFIRMAR: {
      to: [...afterCall, 'OMITIDA'],
      on: {
        ...outcomeRows,
        ...lookUpRows,
        callback: earlyCallbackRow,
        liberar: unconfirmedReleaseRow,
      },
      // Only a look-up, a callback or an operator ends it; the day is for the rule that nothing waits
      // for ever.
      handle: () => waitFor({ deadline: '1d', on: { timeout: 'SIN_CONFIRMAR' } }),
    },
    DEPLOYED: active,
    QUEUED: active,
    PENDING_EXECUTION: active,
    RUNNING: active,
    RUN_PAUSED: active,
    UNKNOWN: { end: true, to: afterRun, on: runRows, handle: whileUnknown },
    COMPLETED: { end: true },
    RUN_COMPLETED: { end: true },
    COMPLETED_INFERRED: { end: true },
    RUN_FAILED: { end: 'failed' },
    DEPLOY_FAILED: { end: 'failed' },
    RUN_ABORTED: { end: 'failed' },
    RUN_TIMED_OUT: { end: 'failed' },
    OMITIDA: { end: true, handle: leftOut },
  },
});

function whileItWaits(job: ExecutionJob): ExecutionAction {
  const leftMs = job.input.endsAt + secondMs - job.now;
  if (leftMs <= 0) return transition('OMITIDA');
  return waitFor({ deadline: `${leftMs}ms`, on: { timeout: 'OMITIDA' } });
}

function whileItRuns(job: ExecutionJob): ExecutionAction {
  const { toleranceMs } = rulesOf(job);
  const { callback, lastSeenAt, deployedAt } = recordOf(job);
  if (callback !== null && isFinal(callback.status)) {
    note(job, { endedAt: callback.at });
    return transition(callback.status);
  }
  // L-47 counts from the last positive sighting.
  const leftMs = Math.max(0, (lastSeenAt ?? deployedAt ?? job.now) + toleranceMs - job.now);
  return waitFor({ deadline: `${leftMs}ms`, on: { timeout: 'UNKNOWN' } });
}

/** Holds its device for a while, then frees it, and is given up after the tolerance (S-89, LH-8). */
function whileUnknown(job: ExecutionJob): ExecutionAction {
  const rules = rulesOf(job);
  const { lastSeenAt, deployedAt, firstUnknownAt, isReleased } = recordOf(job);
  const ageLeftMs = (lastSeenAt ?? deployedAt ?? job.now) + rules.toleranceMs - job.now;
  if (ageLeftMs <= 0) {
    note(job, { endedAt: job.now, reason: 'no sign of it for too long' });
    return finish({ estado: 'UNKNOWN' });
  }
  const again = (ms: number) =>
    waitFor({ deadline: `${ms}ms`, on: { timeout: 'UNKNOWN' } as const });
  const heldLeftMs = (firstUnknownAt ?? job.now) + rules.unknownActiveMs - job.now;
  if (heldLeftMs > 0) return again(Math.min(heldLeftMs, ageLeftMs));
  if (isReleased) return again(ageLeftMs);
  note(job, { isReleased: true });
  return holding(again(ageLeftMs), { release: [deviceKey(job.input.device)] });
}

function leftOut(job: ExecutionJob) {
  const { pause } = rulesOf(job);
  const { startsAt, endsAt } = job.input;
  if (isAllInPause(pause, startsAt, endsAt))
    note(job, { reason: 'its whole window lies in the pause' });
  note(job, { endedAt: job.now });
  return finish({ motivo: recordOf(job).reason ?? 'nobody has deployed it in its window' });
}
