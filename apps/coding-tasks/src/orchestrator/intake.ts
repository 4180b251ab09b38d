import { CapatazError } from 'capataz';
import type { Bus, BusEvent, EventHandler, Refusal } from 'capataz/bus';
import type { Client } from 'capataz/client';
import type { Clock, Log } from 'capataz/server';
import { busEvent, exchangeOf, jsonOf, type Message, readMessage } from '../contract/messages.ts';
import { isTaskState, originators } from '../contract/names.ts';
import { blueprintName } from '../task/blueprint.ts';
import { type TaskInput, taskRecord } from '../task/record.ts';
import { whileUnavailable } from './retry.ts';

export interface IntakeOptions {
  /** Whose jobs the tasks are. */
  readonly client: () => Client;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
}

type UserAction = Message<
  'tarea.crear' | 'tarea.aprobar_plan' | 'tarea.rechazar_plan' | 'tarea.cancelar'
>;

interface Outcome {
  readonly isAccepted: boolean;
  readonly reason: string | null;
  readonly state: string | null;
  /** It will never be of use, and shall lie where somebody looks at it. */
  readonly deadLetter?: string;
}

/**
 * What comes over the bus becomes starts and signals of jobs. The traceId is the signal's id, which
 * the store keeps with what the signal changes: a repetition does nothing, whenever it comes.
 */
export class Intake {
  readonly #options: IntakeOptions;

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  /** `topico.tareas`: what users want. The orchestrator's own orders come by here too. */
  readonly onOrder: EventHandler = async (event, { signal }) => {
    if (event.originator === originators.orchestrator) return;
    const read = readMessage(event);
    if (!read.ok) return { deadLetter: read.problem };
    const action = userAction(read.message);
    if (action === null) return;
    if (action.originator !== originators.gateway)
      return { deadLetter: `${action.name} comes from ${action.originator}, not from the gateway` };
    const outcome = await this.#steadily(event, signal, () => this.#act(action));
    await this.#answer(action, outcome);
    return outcome.deadLetter === undefined ? undefined : { deadLetter: outcome.deadLetter };
  };

  /** `topico.resultados`: what the services say. */
  readonly onResult: EventHandler = async (event, { signal }) => {
    const read = readMessage(event);
    if (!read.ok) return { deadLetter: read.problem };
    return this.#steadily(event, signal, () => this.#deliver(read.message));
  };

  #steadily<T>(event: BusEvent, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const { clock, log } = this.#options;
    return whileUnavailable(work, { clock, signal, log: log.child({ event: event.id }) });
  }

  async #deliver(message: Message): Promise<Refusal | undefined> {
    try {
      await this.#signal(message);
    } catch (error) {
      if (isUnknown(error)) return { deadLetter: `there is no task ${message.taskId}` };
      // The job's book says what was ignored, and why.
      if (!isRefused(error)) throw error;
      const { taskId, name, traceId } = message;
      const fields = { job: taskId, event: name, traceId, reason: error.message };
      this.#options.log.info('ignored: unexpected', fields);
    }
    return undefined;
  }

  async #act(action: UserAction): Promise<Outcome> {
    try {
      if (action.name === 'tarea.crear') await this.#create(action);
      else await this.#signal(action);
      return { isAccepted: true, reason: null, state: null };
    } catch (error) {
      if (!(error instanceof CapatazError) || error.retryable) throw error;
      return this.#refused(action, error);
    }
  }

  async #create({ taskId, payload }: Message<'tarea.crear'>): Promise<void> {
    const { prompt, repositorioOrigen, ramaDestino = null, reglas, solicitudId = null } = payload;
    const { usuario = originators.gateway } = payload;
    const { requiereAprobacionPlan } = reglas;
    const input: TaskInput = {
      ...{ prompt, repositorioOrigen, ramaDestino, requiereAprobacionPlan, usuario, solicitudId },
    };
    await this.#options.client().jobs.start(blueprintName, input, {
      jobId: taskId,
      idempotencyKey: `tarea.crear:${taskId}`,
      correlationId: taskId,
      attributes: { usuario },
    });
  }

  async #signal({ taskId, name, traceId, payload }: Message): Promise<void> {
    const { jobs } = this.#options.client();
    await jobs.signal(taskId, name, jsonOf(payload), { signalId: traceId });
  }

  async #refused(action: UserAction, error: CapatazError): Promise<Outcome> {
    const { taskId } = action;
    if (isUnknown(error)) {
      const deadLetter = `there is no task ${taskId}`;
      return { isAccepted: false, reason: 'unknown_task', state: null, deadLetter };
    }
    if (action.name === 'tarea.crear') {
      const deadLetter = `the task ${taskId} can’t be created: ${error.message}`;
      const isThere = error.code === 'IDEMPOTENCY_CONFLICT' || error.code === 'JOB_EXISTS';
      return {
        isAccepted: false,
        reason: isThere ? 'task_exists' : 'invalid',
        state: null,
        deadLetter,
      };
    }
    const { state, data } = await this.#options.client().jobs.get(taskId);
    // Said twice, by two clients or after a lost answer: done already, and well so (B-036).
    if (action.name === 'tarea.aprobar_plan') {
      const { approval } = taskRecord.parse(data);
      if (approval?.planId === action.payload.planId)
        return { isAccepted: true, reason: 'already_approved', state };
    }
    const said = error.details?.said;
    return { isAccepted: false, reason: typeof said === 'string' ? said : 'unexpected', state };
  }

  async #answer(action: UserAction, { isAccepted, reason, state }: Outcome): Promise<void> {
    const { bus, clock, newId } = this.#options;
    const answer: Message = {
      name: 'tarea.accion_atendida',
      taskId: action.taskId,
      traceId: newId(),
      time: clock.now(),
      originator: originators.orchestrator,
      payload: {
        accion: action.name,
        traceIdAccion: action.traceId,
        aceptada: isAccepted,
        motivo: reason,
        estado: state !== null && isTaskState(state) ? state : null,
        usuario: action.payload.usuario ?? '',
      },
    };
    await bus.publish(exchangeOf(answer.name), busEvent(answer));
  }
}

function userAction(message: Message): UserAction | null {
  switch (message.name) {
    case 'tarea.crear':
    case 'tarea.aprobar_plan':
    case 'tarea.rechazar_plan':
    case 'tarea.cancelar':
      return message;
    default:
      return null;
  }
}

function isUnknown(error: unknown): boolean {
  return error instanceof CapatazError && error.code === 'JOB_NOT_FOUND';
}

function isRefused(error: unknown): error is CapatazError {
  return (
    error instanceof CapatazError &&
    (error.code === 'SIGNAL_REFUSED' || error.code === 'ALREADY_FINAL')
  );
}
