import type { StoredEntry } from '../core/history.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { Archive, EventPage, JobEvent, Store } from '../store/contract.ts';

/**
 * Reads books wherever they lie. The store is asked first: what is no longer there was in the archive
 * before. The other way round a row that is moved in between would be in neither answer.
 */
export class Books {
  readonly #store: Pick<Store, 'history' | 'events' | 'latestPosition' | 'archived'>;
  readonly #archive: Archive | null;

  constructor(store: Store, archive: Archive | null) {
    this.#store = store;
    this.#archive = archive;
  }

  /** As the store's. @throws CapatazError STORE_UNAVAILABLE where a part of it can't be reached */
  async history(jobId: string, after: number, limit: number): Promise<StoredEntry[]> {
    const here = await this.#store.history(jobId, after, limit);
    const isAtEnd = here.length === 0 && after > 0;
    if (here[0]?.seq === after + 1 || (isAtEnd && this.#archive === null)) return here;
    const { seq } = await this.#store.archived(jobId);
    if (seq <= after) return here;
    if (this.#archive === null) throw unconfigured(jobId);
    const there = await this.#archive.history(jobId, after, limit);
    // Another file or schema than the one to which the books were moved holds nothing of it.
    if (there[0]?.seq !== after + 1) throw missing(jobId, this.#archive);
    const last = there.at(-1)?.seq ?? after;
    return [...there, ...here.filter((entry) => entry.seq > last)].slice(0, limit);
  }

  /** As the store's, also for a reader that is behind what was moved. */
  async events(after: number, limit: number): Promise<EventPage> {
    if (this.#archive === null) return this.#store.events(after, limit);
    const latest = await this.#store.latestPosition();
    const here = await this.#store.events(after, limit);
    const { position: moved } = await this.#store.archived();
    if (after >= moved) return here;
    // The store's page is complete up to its last position, and where it isn't full up to the latest one.
    const isFull = here.events.length >= limit;
    const upTo = isFull ? here.position : Math.max(here.position, Math.min(latest, moved));
    return mergedPage(here, await this.#archive.events(after, upTo, limit), after, limit);
  }
}

/** Whole commits, each once, in their order, as far as both pages are known to reach. */
function mergedPage(here: EventPage, there: EventPage, after: number, limit: number): EventPage {
  const inStore = new Set(here.events.map(({ position }) => position));
  const upTo = there.events.length >= limit ? there.position : Number.POSITIVE_INFINITY;
  const all = [...here.events, ...there.events.filter(({ position }) => !inStore.has(position))]
    .filter(({ position }) => position <= upTo)
    // Entries of one commit keep their order.
    .sort((a, b) => a.position - b.position);
  const events: JobEvent[] = [];
  for (const event of all) {
    if (events.length >= limit && event.position !== events.at(-1)?.position) break;
    events.push(event);
  }
  return { events, position: events.at(-1)?.position ?? after };
}

function unconfigured(jobId: string): CapatazError {
  const message = `The history of job ${jobId} lies in another database, and the setting history names none.`;
  return new CapatazError('STORE_UNAVAILABLE', message);
}

function missing(jobId: string, { name }: Archive): CapatazError {
  const message = `The history of job ${jobId} was moved to another database, and ${name} does not hold it.`;
  return new CapatazError('STORE_UNAVAILABLE', message);
}
