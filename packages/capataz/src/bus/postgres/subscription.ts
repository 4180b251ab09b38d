import type { Clock } from '../../std/clock.ts';
import { cleanText } from '../../std/json.ts';
import type { Log } from '../../std/log.ts';
import {
  type BusCodec,
  BusError,
  type Delivery,
  defaultPrefetch,
  type QueueOptions,
  type Subscription,
  type WireMessage,
} from '../contract.ts';
import type { BusCounts } from '../counts.ts';
import { decodeSafely } from '../envelope.ts';
import { declareName } from './declare.ts';
import { downError, type PostgresLink } from './link.ts';

export interface ConsumeParts {
  readonly link: PostgresLink;
  readonly codec: BusCodec;
  readonly log: Log;
  readonly counts: BusCounts;
  readonly clock: Clock;
  /** This consumer's id. */
  readonly id: string;
  /** Consumers of the name that this process has lost. */
  readonly gone: readonly string[];
}

/** What is held comes back to the name this long after its consumer has died without a word. */
const leaseMs = 15_000;
/**
 * How often the lease is renewed. The same statement's answer shows that the link is alive, and the look
 * that follows finds what nobody has notified: LISTEN has no memory and dies in silence (B-076).
 */
const lookEveryMs = 3_000;
/** Bodies of one claim; a larger one comes alone. What the link carries at once has to fit in its time limit. */
const maxClaimBytes = 4 * 1024 * 1024;

interface Claimed {
  readonly position: number;
  readonly deliveries: number;
  readonly reason: string | null;
  readonly routing_key: string;
  readonly headers: string;
  readonly body: string;
}

/** Consumes on a link of its own, which ends with the subscription. @throws BusError */
export async function consume(
  queue: QueueOptions & { readonly prefetch?: number },
  receive: (delivery: Delivery) => void,
  parts: ConsumeParts,
): Promise<Subscription> {
  const { link, id, gone } = parts;
  try {
    const name = await declareName(link, queue);
    await link.run('join', id, name, leaseMs);
    const prefetch = queue.prefetch ?? defaultPrefetch;
    const consumer = new Consumer({ ...parts, name, durable: queue.durable, prefetch, receive });
    await link.listen((payload) => {
      if (payload === String(name)) consumer.look();
    });
    await link.run('free', name, gone);
    consumer.start();
    return {
      ended: link.lost.then((error) => (error.code === 'closed' ? null : error)),
      close: () => consumer.close(),
    };
  } catch (error) {
    link.destroy(downError(error));
    throw downError(error);
  }
}

interface Consuming extends ConsumeParts {
  readonly name: number;
  readonly durable: string;
  readonly prefetch: number;
  readonly receive: (delivery: Delivery) => void;
}

/** One after the other: settles what was settled, and takes what there is room for. */
class Consumer {
  readonly #parts: Consuming;
  readonly #unsettled = new Set<number>();
  #acknowledged: number[] = [];
  #released: number[] = [];
  /** Something may wait that was not looked for. */
  #mayFind = true;
  #working: Promise<void> | null = null;
  #isClosing = false;

  constructor(parts: Consuming) {
    this.#parts = parts;
  }

  start(): void {
    this.look();
    const { clock, link } = this.#parts;
    let cancel = (): void => undefined;
    const tick = (): void => {
      void this.#renew();
      cancel = clock.after(lookEveryMs, tick);
    };
    cancel = clock.after(lookEveryMs, tick);
    void link.lost.then(() => {
      this.#isClosing = true;
      cancel();
    });
  }

  /** Somebody says that there may be something. */
  look(): void {
    this.#mayFind = true;
    this.#work();
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    const { link, name, id } = this.#parts;
    try {
      // At most one is at work, and it may have ended before the last settlements came.
      await this.#working;
      await this.#settle();
      await link.run('free', name, [id]);
    } catch {
      // The link is lost, and the lease runs out by itself.
    }
    await link.close();
  }

  async #renew(): Promise<void> {
    if (this.#isClosing) return;
    const { link, name, id } = this.#parts;
    try {
      const renewed = await link.run('renew', id, leaseMs);
      if (renewed.length === 0) throw new BusError('down', 'the lease on what was held ran out');
      await link.run('free', name, []);
      this.look();
    } catch (error) {
      link.destroy(downError(error));
    }
  }

  #work(): void {
    if (this.#working !== null || this.#isClosing) return;
    this.#working = this.#workThrough()
      .catch((error: unknown) => this.#parts.link.destroy(downError(error)))
      .finally(() => {
        this.#working = null;
        if (this.#hasWork) this.#work();
      });
  }

  get #hasWork(): boolean {
    return this.#acknowledged.length > 0 || this.#released.length > 0 || this.#canClaim;
  }

  get #canClaim(): boolean {
    return this.#mayFind && this.#unsettled.size < this.#parts.prefetch && !this.#isClosing;
  }

  async #workThrough(): Promise<void> {
    while (this.#hasWork) {
      await this.#settle();
      if (this.#canClaim) await this.#claim();
    }
  }

  async #settle(): Promise<void> {
    const { link, name, id } = this.#parts;
    const [acknowledged, released] = [this.#acknowledged, this.#released];
    this.#acknowledged = [];
    this.#released = [];
    if (acknowledged.length > 0) await link.run('settle', name, id, acknowledged);
    if (released.length > 0) await link.run('release', name, id, released);
  }

  async #claim(): Promise<void> {
    const { link, name, id, prefetch } = this.#parts;
    this.#mayFind = false;
    const room = prefetch - this.#unsettled.size;
    const claimed = await link.run<Claimed>('claim', name, id, room, maxClaimBytes);
    if (claimed.length > 0) this.#mayFind = true;
    for (const entry of claimed) if (entry.reason === null) this.#give(entry);
  }

  #give({ position, deliveries, routing_key: routingKey, headers, body }: Claimed): void {
    const { codec, counts, log, durable, receive } = this.#parts;
    this.#unsettled.add(position);
    const message: WireMessage = { routingKey, headers: JSON.parse(headers), body };
    const ack = (): void => this.#settleLater(position, this.#acknowledged);
    const release = (): void => this.#settleLater(position, this.#released);
    const deadLetter = (reason: string): Promise<void> => this.#bury(position, reason);
    const decoded = decodeSafely(codec, message);
    if (decoded.ok) {
      receive({ event: decoded.event, deliveries, ack, release, deadLetter });
      return;
    }
    counts.undecodable += 1;
    log.warn('a message of the bus can’t be read', { queue: durable, problem: decoded.problem });
    // Where even that fails it goes back, and the limit of deliveries ends it.
    deadLetter(`undecodable: ${decoded.problem}`).catch(release);
  }

  #settleLater(position: number, settlements: number[]): void {
    if (!this.#unsettled.delete(position)) return;
    settlements.push(position);
    this.#work();
  }

  async #bury(position: number, reason: string): Promise<void> {
    if (!this.#unsettled.has(position)) return;
    const { link, name, id, counts } = this.#parts;
    await link.run('bury', name, id, position, cleanText(reason));
    if (!this.#unsettled.delete(position)) return;
    counts.deadLettered += 1;
    this.#work();
  }
}
