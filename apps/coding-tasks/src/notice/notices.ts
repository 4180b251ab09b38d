import { type Blueprint, blueprint, transition } from 'capataz';
import { type Bus, busSource, type SubscriberOptions } from 'capataz/bus';
import type { Client } from 'capataz/client';
import { z } from 'zod';
import { readMessage } from '../contract/messages.ts';
import { exchanges } from '../contract/names.ts';
import { taskView } from '../gateway/view.ts';
import { type Channel, type Notice, notice } from './notice.ts';

const blueprintName = 'plan-notice';
/** The store under which the blueprint finds `Notices`. */
export const noticeStore = 'notices';

const input = z.object({ channel: z.string(), notice });

export interface NoticesOptions {
  readonly channels: ReadonlyMap<string, Channel>;
  readonly reviewers: readonly string[];
}

/**
 * Tells by webhook and mail that a plan waits (S-76). Each telling is a job of its own, so that one which
 * fails is tried again over restarts, can be looked at, and holds up nothing else.
 */
export class Notices {
  readonly #options: NoticesOptions;
  #client: (() => Client) | null = null;

  constructor(options: NoticesOptions) {
    this.#options = options;
  }

  /** @returns what it has to hear: nothing where nobody is to be told */
  connect({ bus, client }: { readonly bus: Bus; readonly client: () => Client }) {
    this.#client = client;
    const { channels } = this.#options;
    if (channels.size === 0) return [];
    const patterns = ['tarea.estado_cambiado'];
    const queue = { durable: 'notice-service', exchange: exchanges.results, patterns };
    const subscriber: SubscriberOptions = {
      name: 'notices',
      source: busSource(bus, queue),
      handle: async (event) => {
        const read = readMessage(event);
        if (!read.ok || read.message.name !== 'tarea.estado_cambiado') return;
        const { taskId, payload } = read.message;
        if (payload.estado === 'ESPERANDO_APROBACION_PLAN') await this.#begin(taskId);
      },
    };
    return [subscriber];
  }

  /** @returns whether it was told: not where the plan waits no more */
  async tell(
    { channel, notice }: z.infer<typeof input>,
    options: { readonly id: string; readonly signal: AbortSignal },
  ): Promise<boolean> {
    const tell = this.#options.channels.get(channel);
    if (tell === undefined) return false;
    const waiting = await this.#waiting(notice.taskId);
    if (waiting?.planId !== notice.planId) return false;
    await tell(notice, options);
    return true;
  }

  async #begin(taskId: string): Promise<void> {
    const waiting = await this.#waiting(taskId);
    if (waiting === null || this.#client === null) return;
    for (const channel of this.#options.channels.keys())
      await this.#client().jobs.start(
        blueprintName,
        { channel, notice: waiting },
        {
          idempotencyKey: `${channel}:${taskId}:${waiting.planId}:${waiting.hash}`,
          correlationId: taskId,
        },
      );
  }

  async #waiting(taskId: string): Promise<Notice | null> {
    if (this.#client === null) return null;
    const task = taskView(await this.#client().jobs.get(taskId));
    if (task === null || task.estado !== 'ESPERANDO_APROBACION_PLAN' || task.plan === null)
      return null;
    const { prompt, repositorioOrigen, usuario, plan } = task;
    const revisores = [...this.#options.reviewers];
    return { taskId, ...plan, prompt, repositorioOrigen, usuario, revisores };
  }
}

/** About two hours of tries; what was told to nobody then is a failed job. */
export function noticeBlueprint(): Blueprint {
  return blueprint({
    name: blueprintName,
    version: 1,
    input,
    states: {
      SENDING: {
        start: true,
        to: ['SENT', 'NOT_NEEDED', 'NOT_SENT'],
        timeout: '1m',
        retry: { max: 16, base: '10s', cap: '10m', then: 'NOT_SENT' },
        run: async (job) => {
          const { id, signal } = job;
          const wasTold = await noticesIn(job.stores).tell(job.input, { id, signal });
          return transition(wasTold ? 'SENT' : 'NOT_NEEDED');
        },
      },
      SENT: { end: true },
      NOT_NEEDED: { end: true },
      NOT_SENT: { end: 'failed' },
    },
  });
}

function noticesIn(stores: Readonly<Record<string, unknown>>): Notices {
  const notices = stores[noticeStore];
  if (notices instanceof Notices) return notices;
  throw new Error(`there is no store "${noticeStore}"`);
}
