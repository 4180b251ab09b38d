import type { Breaker } from '../../breaker/breaker.ts';
import type { Job } from '../../core/job.ts';
import type { Store } from '../../store/contract.ts';
import { simExchange } from './bus.ts';
import type { BusWatch } from './bus-watch.ts';

/** The rules of events: emitted, published, handled (S-36, S-47, S-58, H-31, H-39 to H-43). */

/** What the store counts is what lies there by the books of the watch; for use at any moment. */
export async function checkEventCounts(store: Store, watch: BusWatch): Promise<string[]> {
  const { outbox, deadLetters } = await store.counts();
  const pending = watch.count(({ place }) => place === 'outbox');
  const dead = watch.count(({ place }) => place === 'dead');
  return [
    ...(outbox === pending ? [] : [`the store counts ${outbox} events to publish, not ${pending}`]),
    ...(deadLetters === dead ? [] : [`the store counts ${deadLetters} dead letters, not ${dead}`]),
  ];
}

/** Nothing rests that could be published. */
export async function checkOutbox(store: Store): Promise<string[]> {
  const { outbox } = await store.counts();
  return outbox === 0 ? [] : [`${outbox} events are not published`];
}

/** The listener has handled, at least once, whatever the bus has. */
export function checkHandled(watch: BusWatch): string[] {
  return [...watch.events.values()]
    .filter(({ exchange, arrivals, isHandled }) => {
      return exchange === simExchange && arrivals > 0 && !isHandled;
    })
    .map(({ id, name }) => `event ${name} (${id}) was published and never handled`);
}

/** Everything that was said is with the bus, or a dead letter that an operator can see. */
export async function checkEvents(store: Store, watch: BusWatch): Promise<string[]> {
  const letters = await store.deadLetters({ limit: 10_000, resolvedToo: true });
  const dead = new Map(letters.map((letter) => [letter.id, letter]));
  const problems: string[] = [];
  for (const { id, name, arrivals, place } of watch.events.values()) {
    const letter = dead.get(id);
    if (letter === undefined && arrivals === 0) problems.push(`${name} (${id}) is lost`);
    const isResolved = letter === undefined ? null : letter.resolvedAt !== null;
    const wanted = place === 'dead' ? false : place === 'resolved' ? true : null;
    if (isResolved !== wanted) problems.push(`${name} (${id}) is ${place}, the store has another`);
  }
  return problems;
}

/** A job says what its blueprint lets it say, once. */
export function checkWords({ id, blueprint, status }: Job, watch: BusWatch): string[] {
  if (blueprint !== 'speaker' || status !== 'finished') return [];
  const words = watch.of(id).map(({ name }) => name);
  return words.join(' ') === 'one two three' ? [] : [`job ${id} said "${words.join(' ')}"`];
}

/** An answer whose sender was told that it is stored has so long to reach its job. */
const longestWayMs = 60_000;

export function checkAnswers({ id, state }: Job, { answeredAt, endedAt }: BusWatch): string[] {
  if (state !== 'unanswered') return [];
  const lateMs = (endedAt.get(id) ?? 0) - (answeredAt.get(id) ?? Number.POSITIVE_INFINITY);
  if (lateMs <= longestWayMs) return [];
  return [`job ${id} ended unanswered ${lateMs} ms after its answer was stored`];
}

/** A circuit that is asked for long enough lets calls through again. */
export async function checkBreaker(
  breaker: Breaker,
  advance: (ms: number) => Promise<void>,
): Promise<string[]> {
  for (let tries = 0; tries < 10 && breaker.state !== 'closed'; tries += 1) {
    await advance(breaker.pausedForMs ?? 0);
    await breaker.call(() => undefined).catch(() => undefined);
  }
  return breaker.state === 'closed' ? [] : [`the circuit of the bus stays ${breaker.state}`];
}
