import { isBefore, type Queue, type Queued } from '../memory/claims.ts';
import type { MemoryData, OpenJob, TaskRecord } from '../memory/data.ts';
import { isInQueue } from '../memory/data.ts';

interface Place {
  readonly jobId: string;
  readonly record: TaskRecord;
}

/** The queued tasks of one class in their order; those that have left are passed over when met. */
class Line {
  #places: Place[] = [];
  #next = 0;

  put(place: Place): void {
    let [low, high] = [this.#next, this.#places.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#places[middle];
      if (other !== undefined && isBefore(other.record, place.record)) low = middle + 1;
      else high = middle;
    }
    this.#places.splice(low, 0, place);
  }

  get head(): Place | undefined {
    return this.#places[this.#next];
  }

  drop(): void {
    this.#next += 1;
  }
}

/**
 * What a batch may hand out, by class, so that a claim looks at the heads of its classes. To look at all that
 * was read took as long as the batch has claims, squared.
 */
export class ClassQueue implements Queue {
  readonly #data: MemoryData;
  /** By class key: those that one may get with others, and those that may have killed a worker. */
  readonly #lines = new Map<string, { readonly sound: Line; readonly suspect: Line }>();
  readonly #known = new Set<TaskRecord>();

  constructor(data: MemoryData, classKeys: Iterable<string>) {
    this.#data = data;
    for (const key of classKeys) this.#lines.set(key, { sound: new Line(), suspect: new Line() });
    if (this.#lines.size > 0) for (const id of data.open.keys()) this.look(id);
  }

  /** To be called when a rule has changed a job, whose tasks may be queued now. */
  look(jobId: string): void {
    const owner = this.#data.open.get(jobId);
    if (owner === undefined || this.#lines.size === 0) return;
    for (const record of owner.tasks.values()) {
      const lines = this.#lines.get(record.classKey);
      if (lines === undefined || this.#known.has(record) || !isInQueue(owner, record)) continue;
      this.#known.add(record);
      (record.task.lostRuns > 0 ? lines.suspect : lines.sound).put({ jobId, record });
    }
  }

  first(classKeys: readonly string[], suspectsToo: boolean): Queued | undefined {
    let best: Queued | undefined;
    const consider = (queued: Queued | undefined): void => {
      if (queued === undefined) return;
      if (best === undefined || isBefore(queued.record, best.record)) best = queued;
    };
    for (const key of classKeys) {
      const lines = this.#lines.get(key);
      if (lines === undefined) continue;
      consider(this.#headOf(lines.sound));
      if (suspectsToo) consider(this.#headOf(lines.suspect));
    }
    return best;
  }

  #headOf(line: Line): Queued | undefined {
    for (let place = line.head; place !== undefined; place = line.head) {
      const owner = this.#ownerOf(place);
      if (owner !== undefined && isInQueue(owner, place.record))
        return { owner, record: place.record };
      this.#known.delete(place.record);
      line.drop();
    }
    return undefined;
  }

  #ownerOf({ jobId, record }: Place): OpenJob | undefined {
    const owner = this.#data.open.get(jobId);
    return owner?.tasks.get(record.task.id) === record ? owner : undefined;
  }
}
