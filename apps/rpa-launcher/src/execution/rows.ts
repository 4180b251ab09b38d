import { type Action, type Answer, holding, refuse, stay, transition } from 'capataz';
import { deploymentKey, deviceKey, type ExecutionJob, note, recordOf } from './record.ts';
import { absenceProof, rulesOf } from './rules.ts';
import { type SignalData, type SignalName, signals } from './signals.ts';
import { type ExecutionState, isActive, isFinal, reportedState } from './states.ts';

export type ExecutionAction = Action<ExecutionState>;
export type ExecutionRow = (job: ExecutionJob, signal: Answer) => ExecutionAction;
export type ExecutionRows = Readonly<Record<string, ExecutionRow>>;

/** A row whose signal says what its schema asks for; any other is refused. */
function row<N extends SignalName>(
  name: N,
  act: (job: ExecutionJob, data: SignalData<N>) => ExecutionAction,
): ExecutionRow {
  return (job, { data }) => {
    const read = signals[name].safeParse(data);
    // The schema of a name gives the data of that name.
    return read.success ? act(job, read.data as SignalData<N>) : refuse('the data does not fit');
  };
}

/** Takes the device in the commit that stores the intent: one who comes second is refused (LH-1). */
export const orderRow = row('desplegar', (job, { attempt, deviceId, userId }) => {
  if (attempt !== recordOf(job).attempt + 1) return refuse('another launcher is at it');
  note(job, { attempt, deviceId, userId, orderedAt: job.now, reason: null });
  return holding(transition('DESPLEGANDO'), {
    reserve: [{ key: deviceKey(job.input.device), limit: 1 }],
  });
});

/** Only what belongs to the call that is under way counts. */
function ofThisCall<N extends 'desplegado' | 'pospuesto' | 'rechazado' | 'sin_confirmar'>(
  name: N,
  act: (job: ExecutionJob, data: SignalData<N>) => ExecutionAction,
): ExecutionRow {
  return row(name, (job, data) =>
    data.attempt === recordOf(job).attempt ? act(job, data) : refuse('that is another call'),
  );
}

/** What becomes known of a deploy call: in time, or late by its own launcher. */
export const outcomeRows: ExecutionRows = {
  desplegado: ofThisCall('desplegado', (job, { deploymentId, at }) =>
    deployed(job, { deploymentId, at }),
  ),
  pospuesto: ofThisCall('pospuesto', (job, { reason }) => backToWaiting(job, reason)),
  rechazado: ofThisCall('rechazado', (job, { reason, at }) => {
    note(job, { reason, endedAt: at });
    return transition('DEPLOY_FAILED');
  }),
  sin_confirmar: ofThisCall('sin_confirmar', (job, { reason }) => {
    note(job, { reason });
    return transition('SIN_CONFIRMAR');
  }),
};

function deployed(
  job: ExecutionJob,
  { deploymentId, at }: { readonly deploymentId: string; readonly at: number },
): ExecutionAction {
  note(job, { deploymentId, deployedAt: at, lastSeenAt: at, reason: null });
  return holding(transition('DEPLOYED'), { keys: [deploymentKey(deploymentId)] });
}

export function backToWaiting(job: ExecutionJob, reason: string): ExecutionAction {
  note(job, { reason, absences: 0, firstAbsenceAt: null, lastAbsenceAt: null });
  return holding(transition('PENDIENTE'), { release: [deviceKey(job.input.device)] });
}

/** Look-ups, and nothing else, say what became of a call whose outcome was lost. */
export const lookUpRows: ExecutionRows = {
  encontrado: row('encontrado', (job, { deploymentId, startedAt, at }) => {
    note(job, { startedAt });
    return deployed(job, { deploymentId, at: recordOf(job).orderedAt ?? at });
  }),
  ausente: row('ausente', (job, { at }) => {
    const { absences, firstAbsenceAt } = recordOf(job);
    const first = firstAbsenceAt ?? at;
    if (absences + 1 >= absenceProof.lookUps && at - first >= absenceProof.overMs)
      return backToWaiting(job, 'the Control Room does not know the last deploy call');
    note(job, { absences: absences + 1, firstAbsenceAt: first, lastAbsenceAt: at });
    return stay();
  }),
};

/** A callback proves the deployment, however early it comes, and is final (S-86, L-49). */
export const earlyCallbackRow = row('callback', (job, { deploymentId, status, body, at }) => {
  const said = reportedState(status);
  if (said === null || !isFinal(said)) return refuse('only an end proves anything this early');
  note(job, { callback: { status: said, body, at } });
  return deployed(job, { deploymentId, at: recordOf(job).orderedAt ?? at });
});

/** What a run says of itself, and what is said of it. */
export const runRows: ExecutionRows = {
  conciliado: row('conciliado', (job, said) => reported(job, said)),
  callback: row('callback', (job, { deploymentId, status, body, at }) => {
    if (recordOf(job).deploymentId !== deploymentId) return refuse('that is another deployment');
    const said = reportedState(status);
    if (said === null) return refuse('that is no known state');
    if (!isFinal(said)) return reported(job, { status, startedAt: null, endedAt: null, at });
    note(job, { callback: { status: said, body, at }, endedAt: at });
    return transition(said);
  }),
  no_encontrado: row('no_encontrado', (job, { at, isInferred }) => {
    note(job, { misses: recordOf(job).misses + 1 });
    if (!isInferred) return stay();
    note(job, { endedAt: at, reason: 'the Control Room does not list it any more' });
    return transition('COMPLETED_INFERRED');
  }),
  parada: row('parada', (job, { reason }) => {
    const { stop } = recordOf(job);
    note(job, { reason, stop: stop === null ? null : { ...stop, isAsked: true } });
    return stay();
  }),
  parar: row('parar', (job, { by }) => {
    note(job, { stop: { by, isAsked: false } });
    return stay(undefined, { note: `stop: ${by}` });
  }),
  liberar: row('liberar', (job, { by }) => {
    note(job, { endedAt: job.now, reason: `released by ${by}` });
    return transition('RUN_ABORTED');
  }),
};

function reported(
  job: ExecutionJob,
  { status, startedAt, endedAt, at }: SignalData<'conciliado'>,
): ExecutionAction {
  const said = reportedState(status);
  if (said === null) return refuse('that is no known state');
  const { firstUnknownAt, misses, startedAt: known, startedInPause } = recordOf(job);
  const start = startedAt ?? known;
  const inPause = start !== null && (rulesOf(job).pause?.at(start) ?? null) !== null;
  note(job, { startedAt: start, startedInPause: startedInPause || inPause });
  if (isFinal(said)) {
    note(job, { endedAt: endedAt ?? at, misses: 0 });
    return transition(said);
  }
  if (said === 'UNKNOWN') {
    note(job, { firstUnknownAt: firstUnknownAt ?? at, lastUnknownAt: at, misses: misses + 1 });
    return job.state === 'UNKNOWN' ? stay() : transition('UNKNOWN');
  }
  note(job, { lastSeenAt: at, misses: 0, firstUnknownAt: null });
  return isActive(said) ? goneOn(job, said) : refuse('that is no known state');
}

/** A run that shows itself again holds its device again, beside whoever took it meanwhile. */
function goneOn(job: ExecutionJob, state: ExecutionState): ExecutionAction {
  if (!recordOf(job).isReleased) return transition(state);
  note(job, { isReleased: false });
  const beside = { key: deviceKey(job.input.device), limit: 1_000 };
  return holding(transition(state), { reserve: [beside] });
}

/** In front of the deploy call. */
export const waitingRows: ExecutionRows = {
  desplegar: orderRow,
  callback: earlyCallbackRow,
  espera: row('espera', (job, { reason }) => {
    note(job, { reason });
    return stay();
  }),
  omitir: row('omitir', (job, { reason }) => leftOut(job, reason)),
  parar: row('parar', (job, { by }) => leftOut(job, `stopped by ${by}`)),
  liberar: row('liberar', (job, { by }) => leftOut(job, `released by ${by}`)),
};

export const unconfirmedReleaseRow = row('liberar', (job, { by }) =>
  leftOut(job, `released by ${by}; what became of the deploy call is not known`),
);

function leftOut(job: ExecutionJob, reason: string): ExecutionAction {
  note(job, { reason });
  return transition('OMITIDA');
}
