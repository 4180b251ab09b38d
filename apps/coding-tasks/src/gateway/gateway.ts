import { createHash } from 'node:crypto';
import { CapatazError } from 'capataz';
import {
  type Bus,
  BusError,
  busSource,
  type EventHandler,
  type SubscriberOptions,
} from 'capataz/bus';
import type { Client } from 'capataz/client';
import type { Clock, Log } from 'capataz/server';
import type { ServerMessage } from '../contract/client.ts';
import { busEvent, exchangeOf, type Message, readMessage } from '../contract/messages.ts';
import { exchanges, originators } from '../contract/names.ts';
import type { Payload } from '../contract/payloads.ts';
import { blueprintName } from '../task/blueprint.ts';
import { type LogMessage, logFeed } from './log-feed.ts';
import { stateMessage, type TaskView, taskView } from './view.ts';

export interface GatewayOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
  /** Users who see all tasks. */
  readonly reviewers: readonly string[];
  /** Of this gateway among several: each is told everything. */
  readonly name: string;
}

export interface Connected {
  readonly bus: Bus;
  /** Of the orchestrator's server: what tasks there are, and where they stand. */
  readonly client: () => Client;
}

export type UserActionName =
  | 'tarea.crear'
  | 'tarea.aprobar_plan'
  | 'tarea.rechazar_plan'
  | 'tarea.cancelar';

/** Somebody who is told what happens. */
export interface Listener {
  readonly user: string;
  /** Whether it wants what agents and tests print, too. */
  readonly wantsLogs: boolean;
  tell(message: ServerMessage): void;
}

export type ActionOutcome = Payload<'tarea.accion_atendida'>;

/** For the orchestrator's answer; after it the action is under way, and its outcome is told later. */
const answerMs = 10_000;
/** Of one user: as many tabs and terminals as somebody may have. */
const maxSockets = 50;
/** Tasks whose state a client is told when it comes (back). */
const shownTasks = 50;

/**
 * Users on one side, the bus on the other. It keeps no truth: what a task is comes from the
 * orchestrator whenever somebody asks.
 */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #listeners = new Set<Listener>();
  readonly #pending = new Map<string, (outcome: ActionOutcome) => void>();
  #connected: Connected | null = null;

  constructor(options: GatewayOptions) {
    this.#options = options;
  }

  get clock(): Clock {
    return this.#options.clock;
  }

  get log(): Log {
    return this.#options.log;
  }

  /** @returns what it has to hear from now on */
  connect(connected: Connected): SubscriberOptions[] {
    this.#connected = connected;
    const { bus } = connected;
    const durable = `${originators.gateway}.${this.#options.name}`;
    const patterns = ['tarea.estado_cambiado', 'tarea.accion_atendida'];
    const news = busSource(bus, { durable, exchange: exchanges.results, patterns });
    const logs = logFeed({
      ...{ bus, durable: `${durable}.logs`, now: () => this.clock.now() },
      isWatched: () => [...this.#listeners].some(({ wantsLogs }) => wantsLogs),
      ownerOf: async (id) => taskView(await connected.client().jobs.get(id))?.usuario ?? null,
      tell: (owner, message) => {
        for (const listener of this.#listeners)
          if (listener.wantsLogs && this.#maySee(listener.user, owner))
            listener.tell(logLine(message));
      },
    });
    return [{ name: 'gateway', source: news, handle: this.#onNews }, logs];
  }

  /** @throws CapatazError LIMIT where the user has too many open already */
  checkRoomFor(user: string): void {
    const open = [...this.#listeners].filter((listener) => listener.user === user).length;
    if (open >= maxSockets)
      throw new CapatazError('LIMIT', `you have ${open} sockets open; close one of them`);
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A client's request id names the task, so that a request that is sent again makes no second one. */
  taskIdFor(user: string, requestId: string | undefined): string {
    if (requestId === undefined) return this.#options.newId();
    const hash = createHash('sha256')
      .update(JSON.stringify([user, requestId]))
      .digest('hex');
    const [a, b, c, d] = [
      hash.slice(0, 8),
      hash.slice(8, 12),
      hash.slice(13, 16),
      hash.slice(17, 20),
    ];
    // Version 8 of RFC 9562: made by a rule of one's own.
    return `${a}-${b}-8${c}-8${d}-${hash.slice(20, 32)}`;
  }

  /**
   * Puts what a user wants on the bus, in his name, and waits a while for what becomes of it.
   * @returns null where the orchestrator has not answered yet
   * @throws CapatazError UNAVAILABLE where the bus is down
   */
  async act<N extends UserActionName>(
    user: string,
    { taskId, name, payload }: { taskId: string; name: N; payload: Payload<N> },
  ): Promise<ActionOutcome | null> {
    const traceId = this.#options.newId();
    const answered = Promise.withResolvers<ActionOutcome | null>();
    const cancel = this.clock.after(answerMs, () => answered.resolve(null));
    this.#pending.set(traceId, answered.resolve);
    try {
      const owned = { ...payload, usuario: user };
      const { clock } = this;
      const originator = originators.gateway;
      const message = { name, taskId, traceId, time: clock.now(), originator, payload: owned };
      // Name and payload belong together.
      await this.#publish(message as Message);
      return await answered.promise;
    } finally {
      cancel();
      this.#pending.delete(traceId);
    }
  }

  /** @throws JOB_NOT_FOUND also for a task of somebody else */
  async task(user: string, taskId: string): Promise<TaskView> {
    const job = await this.#client()
      .jobs.get(taskId)
      .catch((error: unknown) => {
        if (error instanceof CapatazError && error.code === 'JOB_NOT_FOUND') return null;
        throw error;
      });
    const task = job === null ? null : taskView(job);
    if (task !== null && this.#maySee(user, task.usuario)) return task;
    throw new CapatazError('JOB_NOT_FOUND', `there is no task ${taskId}`);
  }

  /** The newest ones, oldest first. A reviewer's are everybody's. */
  async tasks(user: string): Promise<TaskView[]> {
    const isReviewer = this.#options.reviewers.includes(user);
    const { jobs } = await this.#client().jobs.list({
      blueprint: blueprintName,
      limit: shownTasks,
      ...(isReviewer ? {} : { attributes: { usuario: user } }),
    });
    const tasks = jobs.flatMap((job) => taskView(job) ?? []);
    return tasks.sort((one, other) => Date.parse(one.creada) - Date.parse(other.creada));
  }

  #client(): Client {
    if (this.#connected === null) throw new CapatazError('NOT_READY', 'the gateway is starting');
    return this.#connected.client();
  }

  #maySee(user: string, owner: string): boolean {
    return user === owner || this.#options.reviewers.includes(user);
  }

  async #publish(message: Message): Promise<void> {
    if (this.#connected === null) throw new CapatazError('NOT_READY', 'the gateway is starting');
    try {
      await this.#connected.bus.publish(exchangeOf(message.name), busEvent(message));
    } catch (error) {
      // A dead letter is answered like any other outcome.
      if (error instanceof BusError && error.code === 'given_up') return;
      this.log.warn('the bus does not take what a user wants', { error, job: message.taskId });
      throw new CapatazError('NOT_READY', 'the message bus is down; try again later');
    }
  }

  readonly #onNews: EventHandler = (event) => {
    const read = readMessage(event);
    if (!read.ok) return { deadLetter: read.problem };
    const { message } = read;
    if (message.originator !== originators.orchestrator)
      return { deadLetter: `${message.name} comes from ${message.originator}` };
    if (message.name === 'tarea.estado_cambiado') this.#onState(message);
    if (message.name === 'tarea.accion_atendida') this.#onOutcome(message);
    return undefined;
  };

  #onState({ taskId, payload }: Message<'tarea.estado_cambiado'>): void {
    const { usuario, estado, solicitudId, resultado, motivo } = payload;
    const message = stateMessage({ taskId, estado, solicitudId, resultado, motivo });
    for (const listener of this.#listeners)
      if (this.#maySee(listener.user, usuario)) listener.tell(message);
  }

  #onOutcome({ taskId, payload }: Message<'tarea.accion_atendida'>): void {
    const waiting = this.#pending.get(payload.traceIdAccion);
    if (waiting !== undefined) return waiting(payload);
    // Nobody waits any more: a refusal still has to be told.
    if (payload.aceptada) return;
    for (const listener of this.#listeners)
      if (listener.user === payload.usuario) listener.tell(refusalMessage(taskId, payload));
  }
}

function logLine({ name, taskId, originator, payload }: LogMessage): ServerMessage {
  const registro = { nivel: name.slice('log.'.length), servicio: originator, ...payload.campos };
  return {
    tipo: 'ACTUALIZACION_PROGRESO',
    payload: { taskId, mensaje: payload.mensaje, datosAdicionales: { registro } },
  };
}

export function refusalText({ accion, motivo, estado }: ActionOutcome): string {
  const where = estado === null ? '' : `; the task is in ${estado}`;
  return `${accion} was refused: ${motivo ?? 'unknown reason'}${where}`;
}

export function refusalMessage(
  taskId: string,
  outcome: ActionOutcome,
  solicitudId?: string,
): ServerMessage {
  const mensaje = refusalText(outcome);
  const request = solicitudId === undefined ? {} : { solicitudId };
  return { tipo: 'ERROR', payload: { mensaje, taskId, ...request } };
}
