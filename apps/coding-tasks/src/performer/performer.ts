import type { JsonObject } from 'capataz';
import {
  busSource,
  createSubscriber,
  type QueueOptions,
  type Refusal,
  type Subscriber,
} from 'capataz/bus';
import { delay } from 'capataz/server';
import { type Message, readMessage } from '../contract/messages.ts';
import { exchanges, type Originator, originators } from '../contract/names.ts';
import type { EventName } from '../contract/payloads.ts';
import type { Service, ServiceWorld } from '../service.ts';
import type { Ledger, Order, Run } from './ledger.ts';
import { LogStream } from './log-stream.ts';
import { Publisher } from './publisher.ts';
import {
  type Facts,
  type Outcome,
  type Work,
  type WorkControl,
  type WorkEnd,
  WorkFailed,
} from './work.ts';

export interface PerformerOptions extends ServiceWorld {
  /** How it signs what it says. */
  readonly name: Originator;
  /** Its orders; those that are no polls and no cancellations ask for work. */
  readonly queue: QueueOptions;
  /** Whether it talks in sessions that can be taken up. */
  readonly hasSessions: boolean;
  readonly ledger: Ledger;
  readonly work: Work;
  /** Most runs at once; further orders wait, noted. */
  readonly runsAtOnce: number;
  /** How often a run is begun that never comes to an end because the service dies. Default 3. */
  readonly maxStarts?: number;
  /** What a run says it does is published unasked this often, if it is new. Default 30 s. */
  readonly progressMs?: number;
  /** How long what has ended is remembered, for orders that are repeated. Default 30 days. */
  readonly rememberMs?: number;
}

const day = 86_400_000;
const maxMessageChars = 4_000;
const firstWaitMs = 1_000;
const longestWaitMs = 30_000;

/** A run at work, or waiting for its turn. */
interface Active {
  readonly run: Run;
  readonly abort: AbortController;
  status: string;
  isSaid: boolean;
}

/**
 * What smith and sandbox have in common: an order is noted, then acknowledged, then carried out. An
 * order that comes again does nothing while its work is under way and gets its old answer after that;
 * a service that was killed begins the work anew. Polls are answered while the work goes on.
 */
export function createPerformer(options: PerformerOptions): Service {
  return new OrderPerformer(options);
}

class OrderPerformer implements Service {
  readonly #options: PerformerOptions;
  readonly #publisher: Publisher;
  readonly #active = new Map<string, Active>();
  readonly #atWork = new Map<string, Promise<void>>();
  #subscriber: Subscriber | null = null;
  #cancelProgress: () => void = () => undefined;
  readonly #stopping = new AbortController();

  constructor(options: PerformerOptions) {
    this.#options = options;
    this.#publisher = new Publisher(options);
  }

  start(): void {
    const { ledger, clock, bus, log, name, queue, rememberMs = 30 * day } = this.#options;
    ledger.forgetBefore(clock.now() - rememberMs);
    for (const run of ledger.open()) this.#enqueue(run);
    this.#publisher.wake();
    this.#watchProgress();
    this.#subscriber = createSubscriber({
      name,
      source: busSource(bus, queue),
      handle: (event) => this.#receive(readMessage(event)),
      clock,
      log,
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancelProgress();
    await this.#subscriber?.stop();
    for (const { abort } of this.#active.values()) abort.abort();
    await Promise.all(this.#atWork.values());
    await this.#publisher.stop();
  }

  /** Resolves when what the message asks for is noted: only then it is acknowledged. */
  async #receive(read: ReturnType<typeof readMessage>): Promise<Refusal | void> {
    if (!read.ok) return { deadLetter: read.problem };
    const { message } = read;
    // Users' own events have the same names; they are for the orchestrator (C-l).
    if (message.originator !== originators.orchestrator) return;
    if (message.name === 'tarea.consultar_estado') return this.#answerPoll(message);
    if (message.name === 'tarea.cancelar') return this.#cancel(message.taskId);
    await this.#take(message);
  }

  async #take(message: Message): Promise<void> {
    const { ledger, clock, log } = this.#options;
    const order = orderOf(message);
    const noted = ledger.note(order, clock.now());
    switch (noted.is) {
      case 'new':
        for (const id of noted.superseded) this.#active.get(id)?.abort.abort();
        this.#rememberSession(order);
        return this.#enqueue({ ...order, starts: 0 });
      case 'running':
        log.info('order repeated: its work is under way', fieldsOf(order));
        return this.#publishStatus(this.#activeOf(order.task));
      case 'done':
        log.info('order repeated: answered as before', fieldsOf(order));
        for (const result of noted.results) await this.#publisher.publish(result);
        return;
      case 'outdated':
        log.warn('order ignored: a later attempt has replaced it', fieldsOf(order));
    }
  }

  #enqueue(run: Run): void {
    this.#active.set(run.id, {
      run,
      abort: new AbortController(),
      status: 'waiting for a free place',
      isSaid: false,
    });
    this.#startNext();
  }

  #startNext(): void {
    const { log } = this.#options;
    if (this.#stopping.signal.aborted) return;
    for (const [id, active] of this.#active) {
      if (this.#atWork.size >= this.#options.runsAtOnce) return;
      if (this.#atWork.has(id)) continue;
      // A run that was replaced still tidies up; the next one of its task must not meet it.
      if ([...this.#atWork.keys()].some((other) => this.#taskOf(other) === active.run.task))
        continue;
      const done = this.#carryOut(active)
        .catch((error) => log.error('work without an end', { ...fieldsOf(active.run), error }))
        .finally(() => {
          this.#atWork.delete(id);
          this.#active.delete(id);
          this.#startNext();
        });
      this.#atWork.set(id, done);
    }
  }

  /** Rejects only while the service stops: the work is begun again after its start. */
  async #carryOut(active: Active): Promise<void> {
    const { ledger, log, maxStarts = 3 } = this.#options;
    const run = await this.#noted(active.run, () => ledger.begin(active.run.id));
    if (run === null) return;
    const fields = { ...fieldsOf(run), starts: run.starts };
    log.info('work begins', fields);
    const facts = this.#factsOf(run.task);
    const say = (status: string): void => {
      active.isSaid &&= status === active.status;
      active.status = status;
    };
    say(run.starts === 1 ? 'at work' : 'at work again after an interruption');
    this.#publishStatus(active).catch((error) => log.warn('status not said', { ...fields, error }));
    active.isSaid = true;
    let end: { outcome: Outcome; facts: Facts | null };
    try {
      if (run.starts > maxStarts) throw interruptedTooOften(run.starts - 1);
      end = await this.#work(run, { signal: active.abort.signal, facts, say });
    } catch (error) {
      if (this.#stopping.signal.aborted) ledger.interrupted(run.id);
      if (active.abort.signal.aborted) return log.info('work ended early', fields);
      log.warn('work failed', { ...fields, error });
      end = { outcome: failureOf(error), facts: null };
    }
    // Work that came to its end counts, also while the service stops; not what was closed meanwhile.
    const counted = await this.#noted(run, () => this.#finish(run, end));
    const { name } = end.outcome;
    log.info(counted ? `work done: ${name}` : 'work done, but it was closed meanwhile', fields);
    this.#publisher.wake();
  }

  #finish(run: Run, { outcome, facts }: { outcome: Outcome; facts: Facts | null }): boolean {
    const { ledger, clock, newId } = this.#options;
    const { name, payload } = outcome;
    const result = { id: newId(), name, payload: this.#addressed(run, name, payload) };
    const known = facts === null ? null : { ...facts, sessionId: this.#sessionOf(run.task) };
    return ledger.finish(run.id, { result, facts: known }, clock.now());
  }

  /** Until the disk takes it: what was done is not lost for want of room. */
  async #noted<T>(order: Order, write: () => T): Promise<T> {
    const { clock, log } = this.#options;
    const { signal } = this.#stopping;
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
      try {
        return write();
      } catch (error) {
        if (signal.aborted) throw error;
        log.error('the ledger can’t be written', { ...fieldsOf(order), error });
        await delay(clock, waitMs, signal);
      }
    }
  }

  /** What it prints is out before its result is. */
  async #work(run: Run, control: Omit<WorkControl, 'print'>): Promise<WorkEnd> {
    const { name: originator, bus, clock, log, newId, work } = this.#options;
    const fields = { orden: run.name, intento: String(run.attempt ?? '') };
    const taskId = run.correlationId;
    using printed = new LogStream({ bus, clock, log, newId, originator, taskId, fields });
    return await work(run, { ...control, print: (text) => printed.write(text) });
  }

  #cancel(task: string): void {
    const { ledger, clock, log } = this.#options;
    const ids = ledger.drop(task, clock.now());
    for (const id of ids) this.#active.get(id)?.abort.abort();
    this.#startNext();
    log.info('cancelled', { job: task, runs: ids.length });
  }

  /**
   * Whoever has the task answers at once (C-21). Of a task that is not at work here nothing is said:
   * a heartbeat without work behind it would keep the task alive for ever. An answer that may have
   * got lost is given again; who has it knows its id.
   */
  async #answerPoll(message: Message<'tarea.consultar_estado'>): Promise<void> {
    const { destinatario, intento } = message.payload;
    if (destinatario !== undefined && destinatario !== this.#options.name) return;
    const active = this.#activeOf(message.taskId);
    if (active !== undefined) return this.#publishStatus(active);
    for (const result of this.#options.ledger.lastResults(message.taskId)) {
      if (intento === undefined || result.payload.intento === intento) {
        await this.#publisher.publish(result);
      }
    }
  }

  async #publishStatus(active: Active | undefined): Promise<void> {
    if (active === undefined) return;
    const { run, status } = active;
    const { name: originator, clock, newId } = this.#options;
    const payload = this.#addressed(run, 'resultado.estado_actualizado', { estado: status });
    await this.#options.bus.publish(exchanges.results, {
      ...{ id: newId(), job: run.task, sequence: 0, correlationId: run.correlationId },
      ...{
        time: clock.now(),
        originator,
        name: 'resultado.estado_actualizado',
        payload,
        trace: null,
      },
    });
  }

  /** What says to which session and attempt an answer belongs. */
  #addressed(run: Run, name: EventName, payload: object): JsonObject {
    return JSON.parse(
      JSON.stringify({
        ...payload,
        ...(name === 'resultado.integracion_finalizada'
          ? {}
          : { sessionId: this.#sessionOf(run.task) }),
        ...(run.attempt === null ? {} : { intento: run.attempt }),
      }),
    );
  }

  /** Known from the first word about a task on (C-m), and the same ever after. */
  #sessionOf(task: string): string {
    if (!this.#options.hasSessions) return '';
    const { sessionId } = this.#factsOf(task);
    if (typeof sessionId === 'string' && sessionId !== '') return sessionId;
    const fresh = this.#options.newId();
    this.#options.ledger.saveTask(task, { ...this.#factsOf(task), sessionId: fresh });
    return fresh;
  }

  /** A service that lost its folder goes on under the name that the orchestrator knows. */
  #rememberSession(order: Order): void {
    if (!this.#options.hasSessions) return;
    const { sessionId } = order.payload;
    const facts = this.#factsOf(order.task);
    if (typeof sessionId !== 'string' || sessionId === '' || facts.sessionId !== undefined) return;
    this.#options.ledger.saveTask(order.task, { ...facts, sessionId });
  }

  #factsOf(task: string): Facts {
    const facts = this.#options.ledger.task(task) ?? {};
    return Object.fromEntries(
      Object.entries(facts).map(([name, value]) => [name, value === null ? null : String(value)]),
    );
  }

  #activeOf(task: string): Active | undefined {
    return [...this.#active.values()].find(
      ({ run, abort }) => run.task === task && !abort.signal.aborted,
    );
  }

  #taskOf(runId: string): string | undefined {
    return this.#active.get(runId)?.run.task;
  }

  #watchProgress(): void {
    const { clock, log, progressMs = 30_000 } = this.#options;
    this.#cancelProgress = clock.after(progressMs, () => {
      for (const active of this.#active.values()) {
        if (active.isSaid || active.abort.signal.aborted) continue;
        active.isSaid = true;
        this.#publishStatus(active).catch((error) => log.warn('progress not said', { error }));
      }
      this.#watchProgress();
    });
  }
}

/** `intento` tells orders of a task apart; without it a plan can be approved only once. */
function orderOf({ name, taskId, traceId, payload }: Message): Order {
  const attempt = 'intento' in payload ? payload.intento : undefined;
  const planId = 'planId' in payload ? payload.planId : undefined;
  return {
    id: traceId,
    task: taskId,
    name,
    key: `${name} ${attempt ?? planId ?? traceId}`,
    attempt: attempt ?? null,
    payload: JSON.parse(JSON.stringify(payload)),
    correlationId: taskId,
  };
}

function failureOf(error: unknown): Outcome {
  const failure =
    error instanceof WorkFailed ? error : new WorkFailed('interno', String(error), true);
  return {
    name: 'resultado.error',
    payload: {
      codigo: failure.code,
      mensaje: shortened(failure.message),
      recuperable: failure.isRecoverable,
    },
  };
}

/** Agents may be quoted in it. */
function shortened(message: string): string {
  return message.length <= maxMessageChars ? message : `${message.slice(0, maxMessageChars)} …`;
}

function interruptedTooOften(times: number): WorkFailed {
  return new WorkFailed(
    'interrumpido',
    `begun ${times} times and never finished: the service was killed each time`,
    true,
  );
}

function fieldsOf(order: Order) {
  return { job: order.task, order: order.name, attempt: String(order.attempt ?? '') };
}
