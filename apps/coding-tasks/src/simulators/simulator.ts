import { busSource, createSubscriber, type QueueOptions, type Subscriber } from 'capataz/bus';
import { busEvent, exchangeOf, type Message, readMessage } from '../contract/messages.ts';
import { type Originator, originators } from '../contract/names.ts';
import type { EventName, Payload } from '../contract/payloads.ts';
import type { Service, ServiceWorld } from '../service.ts';

/** How a simulated service behaves. It may be switched at any time; what is under way stays as it is. */
export interface Behaviour {
  /** It takes orders and answers none. */
  isSilent: boolean;
  /** It works, and answers no polls. */
  isDeaf: boolean;
  /** How long each kind of work takes, in ms. */
  readonly takesMs: Partial<Record<EventName, number>>;
  /** How often each answer is sent, under one traceId. */
  copies: number;
  /** Answers are held back and sent in the opposite order, `outOfOrder` at a time; 1: as they come. */
  outOfOrder: number;
  /** Whether it returns the number of the delegation, as peers that know only the contract do not. */
  echoes: boolean;
  /** What it says instead of the result it would give; null: that. */
  instead: ((order: Message) => Answer | null) | null;
}

/** What a service says about a task. */
export type Answer<N extends EventName = EventName> = {
  readonly [K in N]: { readonly name: K; readonly payload: Payload<K> };
}[N];

export interface Script {
  readonly name: Originator;
  readonly queue: QueueOptions;
  readonly behaviour: Behaviour;
  /** Which orders it carries out, and with what. Null: this one asks for no work. */
  readonly answer: (order: Message) => Answer | null;
  /** Whether a poll is meant for it. */
  readonly session: (taskId: string) => string;
}

export const obedient: Behaviour = {
  isSilent: false,
  isDeaf: false,
  takesMs: {},
  copies: 1,
  outOfOrder: 1,
  echoes: true,
  instead: null,
};

/** A service that works by a script, in the time of the clock that it is given. */
export class Simulator implements Service {
  /** The orders that it took, oldest first. */
  readonly orders: Message[] = [];
  readonly behaviour: Behaviour;
  readonly #script: Script;
  readonly #world: ServiceWorld;
  readonly #held: Message[] = [];
  readonly #cancels = new Set<() => void>();
  #subscriber: Subscriber | null = null;

  constructor(script: Script, world: ServiceWorld) {
    this.#script = script;
    this.#world = world;
    this.behaviour = script.behaviour;
  }

  start(): void {
    const { bus, clock, log } = this.#world;
    this.#subscriber = createSubscriber({
      name: `${this.#script.name} (simulated)`,
      source: busSource(bus, this.#script.queue),
      clock,
      log,
      handle: (event) => {
        const read = readMessage(event);
        if (!read.ok) return { deadLetter: read.problem };
        this.#take(read.message);
        return undefined;
      },
    });
  }

  async stop(): Promise<void> {
    for (const cancel of this.#cancels) cancel();
    await this.#subscriber?.stop();
  }

  /** Says something about a task of its own accord. */
  async say(taskId: string, answer: Answer, traceId = this.#world.newId()): Promise<void> {
    await this.#publish(this.#message(taskId, answer, traceId));
  }

  #take(order: Message): void {
    // Under one name go orders of users, which are for the orchestrator, and its own (C-l).
    if (order.originator !== originators.orchestrator) return;
    this.orders.push(order);
    const { isSilent, takesMs, instead } = this.behaviour;
    if (isSilent) return;
    const answer = order.name === 'tarea.consultar_estado' ? this.#heartbeat(order) : null;
    if (answer !== null) return this.#later(0, order, answer);
    const result = instead?.(order) ?? this.#script.answer(order);
    if (result !== null) this.#later(takesMs[order.name] ?? 0, order, result);
  }

  #heartbeat({ taskId, payload }: Message<'tarea.consultar_estado'>): Answer | null {
    const { destinatario } = payload;
    const isForMe = destinatario === undefined || destinatario === this.#script.name;
    if (!isForMe || this.behaviour.isDeaf) return null;
    const sessionId = this.#script.session(taskId);
    return { name: 'resultado.estado_actualizado', payload: { sessionId, estado: 'working' } };
  }

  #later(delayMs: number, { taskId, payload }: Message, answer: Answer): void {
    const intento = 'intento' in payload ? payload.intento : undefined;
    const echo = this.behaviour.echoes && intento !== undefined ? { intento } : {};
    const echoing = { ...answer, payload: { ...answer.payload, ...echo } } as Answer;
    const say = (): void => {
      void this.#hold(this.#message(taskId, echoing, this.#world.newId()));
    };
    if (delayMs === 0) return say();
    const cancel = this.#world.clock.after(delayMs, () => {
      this.#cancels.delete(cancel);
      say();
    });
    this.#cancels.add(cancel);
  }

  async #hold(message: Message): Promise<void> {
    this.#held.push(message);
    if (this.#held.length < this.behaviour.outOfOrder) return;
    for (const held of this.#held.splice(0).reverse()) await this.#publish(held);
  }

  async #publish(message: Message): Promise<void> {
    const { bus, log } = this.#world;
    for (let copy = 0; copy < this.behaviour.copies; copy += 1) {
      try {
        await bus.publish(exchangeOf(message.name), busEvent(message));
      } catch (error) {
        log.warn('a simulated answer is lost', { error, job: message.taskId });
      }
    }
  }

  #message(taskId: string, { name, payload }: Answer, traceId: string): Message {
    const time = this.#world.clock.now();
    const originator = this.#script.name;
    return { name, payload, taskId, traceId, time, originator } as Message;
  }
}
