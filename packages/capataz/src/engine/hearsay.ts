import type { WorkerRecord } from '../core/worker.ts';
import type { Store, StoredWorker } from '../store/contract.ts';
import type { Presence } from './presence.ts';
import type { Roll } from './roll.ts';

interface HearsayParts {
  readonly store: Store;
  readonly roll: Roll;
  /** Another instance has changed what is known of it, and the worker is the same. */
  readonly onChanged: (presence: Presence) => void;
  /** It registered elsewhere, or is gone: what was known of it here is of no use any more. */
  readonly onReplaced: (worker: string, former: WorkerRecord, now: WorkerRecord | null) => void;
}

/**
 * Workers as other instances know them. A worker may send each request to another instance, so that one
 * that is unknown here is looked up, and what is known follows the store. What this instance is about to
 * store itself is left alone.
 */
export class Hearsay {
  readonly #parts: HearsayParts;

  constructor(parts: HearsayParts) {
    this.#parts = parts;
  }

  /** Reads all workers anew, or these. */
  async refresh(ids?: readonly string[]): Promise<void> {
    const { store, roll } = this.#parts;
    if (ids?.length === 0) return;
    const before = new Map<string, Presence>();
    for (const presence of roll.all()) before.set(presence.record.id, presence);
    const [stored, now] = await Promise.all([store.workers(ids), store.now()]);
    const isUnmoved = (id: string): boolean => roll.get(id) === before.get(id);
    for (const one of stored) if (isUnmoved(one.worker.id)) this.#adopt(one, now);
    const there = new Set(stored.map(({ worker }) => worker.id));
    for (const id of ids ?? before.keys()) {
      const presence = before.get(id);
      if (presence?.isStored !== true || there.has(id) || !isUnmoved(id)) continue;
      roll.drop(presence);
      this.#parts.onReplaced(id, presence.record, null);
    }
  }

  #adopt({ worker, silentAt }: StoredWorker, now: number): void {
    const { roll, onChanged, onReplaced } = this.#parts;
    const presence = roll.get(worker.id);
    if (presence === undefined) return roll.restore(worker, silentAt - now);
    if (!presence.isStored) return;
    if (presence.record.incarnation !== worker.incarnation) {
      roll.restore(worker, silentAt - now);
      onReplaced(worker.id, presence.record, worker);
    } else if (presence.adopt(worker)) {
      roll.follow(worker.id);
      onChanged(presence);
    }
  }
}
