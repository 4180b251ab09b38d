import { CapatazError } from 'capataz';
import type { Upgrade } from 'capataz/server';
import { type ClientMessage, clientMessage, type ServerMessage } from '../contract/client.ts';
import { type ActionOutcome, type Gateway, type Listener, refusalMessage } from './gateway.ts';
import { currentState } from './view.ts';

type Socket = Parameters<Upgrade['begin']>[1];

const heartbeatMs = 20_000;
/** Of one socket: what a person, or a page for him, asks for at the same time. */
const maxUnderWay = 32;
/** A reader that leaves so much lying is cut off; it comes back to the current state. */
const maxBufferedBytes = 1024 * 1024;

/** A user's WebSocket: what he wants goes in, what happens to his tasks comes out. */
export class ClientSocket implements Listener {
  readonly user: string;
  readonly wantsLogs: boolean;
  readonly #gateway: Gateway;
  readonly #socket: Socket;
  readonly #leave: () => void;
  #wasHeard = true;
  #underWay = 0;
  #cancelBeat: () => void;
  /** News that come while the current state is being read; they follow it. */
  #early: ServerMessage[] | null = [];

  constructor(
    gateway: Gateway,
    { user, wantsLogs }: Pick<Listener, 'user' | 'wantsLogs'>,
    socket: Socket,
  ) {
    this.user = user;
    this.wantsLogs = wantsLogs;
    this.#gateway = gateway;
    this.#socket = socket;
    this.#leave = gateway.listen(this);
    this.#cancelBeat = gateway.clock.after(heartbeatMs, () => this.#beat());
    socket.on('pong', () => this.#heard());
    socket.on('close', () => this.#closed());
    socket.on('message', (data, isBinary) => {
      this.#heard();
      if (isBinary) return this.#socket.close(4400, 'messages are texts');
      void this.#take(String(data));
    });
    void this.#showCurrent();
  }

  tell(message: ServerMessage): void {
    if (this.#early !== null) this.#early.push(message);
    else this.#send(message);
  }

  async #showCurrent(): Promise<void> {
    try {
      for (const task of await this.#gateway.tasks(this.user)) this.#send(currentState(task));
    } catch (error) {
      this.#fail(error);
    }
    const early = this.#early ?? [];
    this.#early = null;
    for (const message of early) this.#send(message);
  }

  async #take(text: string): Promise<void> {
    if (this.#underWay >= maxUnderWay) {
      const mensaje = `more than ${maxUnderWay} requests at once; this one is not taken`;
      return this.#send({ tipo: 'ERROR', payload: { mensaje } });
    }
    this.#underWay += 1;
    await this.#perform(text).finally(() => {
      this.#underWay -= 1;
    });
  }

  async #perform(text: string): Promise<void> {
    const message = messageIn(text);
    if (message === null)
      return this.#send({ tipo: 'ERROR', payload: { mensaje: 'the message is malformed' } });
    const { solicitudId } = message.payload;
    const taskId =
      message.tipo === 'CREAR_TAREA'
        ? this.#gateway.taskIdFor(this.user, solicitudId)
        : message.payload.taskId;
    try {
      const outcome = await perform(this.#gateway, this.user, taskId, message);
      if (outcome !== null && !outcome.aceptada)
        this.#send(refusalMessage(taskId, outcome, solicitudId));
    } catch (error) {
      this.#fail(error, { taskId, ...(solicitudId === undefined ? {} : { solicitudId }) });
    }
  }

  #fail(error: unknown, about: { taskId?: string; solicitudId?: string } = {}): void {
    const isOurs = error instanceof CapatazError;
    if (!isOurs) this.#gateway.log.error('a request of a user failed', { error });
    const mensaje = isOurs ? error.message : 'something went wrong here; try again later';
    this.#send({ tipo: 'ERROR', payload: { mensaje, ...about } });
  }

  #send(message: ServerMessage): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#socket.bufferedAmount > maxBufferedBytes)
      return this.#socket.close(4409, 'you do not read what is sent');
    this.#socket.send(JSON.stringify(message));
  }

  #heard(): void {
    this.#wasHeard = true;
  }

  #beat(): void {
    if (!this.#wasHeard) return this.#socket.terminate();
    this.#wasHeard = false;
    this.#socket.ping();
    this.#cancelBeat = this.#gateway.clock.after(heartbeatMs, () => this.#beat());
  }

  #closed(): void {
    this.#cancelBeat();
    this.#leave();
  }
}

function messageIn(text: string): ClientMessage | null {
  try {
    const parsed = clientMessage.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

/** @throws JOB_NOT_FOUND for a task of somebody else, which is told nothing of */
export async function perform(
  gateway: Gateway,
  user: string,
  taskId: string,
  message: ClientMessage,
): Promise<ActionOutcome | null> {
  if (message.tipo === 'CREAR_TAREA') {
    const { prompt, repositorioOrigen, ramaDestino, solicitudId, reglas } = message.payload;
    const payload = {
      ...{ prompt, repositorioOrigen, ramaDestino, solicitudId },
      reglas: reglas ?? { requiereAprobacionPlan: true },
    };
    return gateway.act(user, { taskId, name: 'tarea.crear', payload });
  }
  await gateway.task(user, taskId);
  switch (message.tipo) {
    case 'APROBAR_PLAN': {
      const { planId, hash } = message.payload;
      return gateway.act(user, { taskId, name: 'tarea.aprobar_plan', payload: { planId, hash } });
    }
    case 'RECHAZAR_PLAN': {
      const { planId, comentario } = message.payload;
      const payload = { planId, comentario };
      return gateway.act(user, { taskId, name: 'tarea.rechazar_plan', payload });
    }
    case 'CANCELAR_TAREA': {
      const { motivo } = message.payload;
      return gateway.act(user, { taskId, name: 'tarea.cancelar', payload: { motivo } });
    }
    default:
      return message satisfies never;
  }
}
