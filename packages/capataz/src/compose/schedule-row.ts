import { assert } from '../std/assert.ts';
import type { ScheduleChange, SlotRecord, Store, StoredSchedule } from '../store/contract.ts';

export type ScheduleStore = Pick<Store, 'schedules' | 'keepSchedule' | 'now' | 'capabilities'>;

const maxRecent = 20;

/** What the store remembers of one schedule. Several instances write it; `handled` says who was first. */
export class ScheduleRow {
  readonly #store: ScheduleStore;
  readonly #name: string;

  constructor(store: ScheduleStore, name: string) {
    this.#store = store;
    this.#name = name;
  }

  async read(): Promise<StoredSchedule | null> {
    const [stored] = await this.#store.schedules([this.#name]);
    return stored ?? null;
  }

  /** Where there is none: everything up to `handled` is dealt with. */
  async begin(handled: number): Promise<StoredSchedule> {
    const { schedule } = await this.#store.keepSchedule(this.#name, { expected: null, handled });
    assert(schedule !== null, `the schedule ${this.#name} was removed from the store`);
    return schedule;
  }

  /**
   * Everything up to the record's last slot is dealt with. `isNoted` is false where another instance
   * has said so before. A job that was started counts more than what another has said of its slot.
   */
  async note(
    stored: StoredSchedule,
    record: SlotRecord,
    wasCreated = false,
  ): Promise<{ readonly stored: StoredSchedule; readonly isNoted: boolean }> {
    let now = stored;
    for (;;) {
      const isFirst = now.handled < record.last;
      if (!isFirst && !(wasCreated && isLeftOut(now, record.last))) {
        return { stored: now, isNoted: false };
      }
      const outcome = await this.#store.keepSchedule(this.#name, {
        expected: now.handled,
        handled: record.last,
        recent: withRecord(now.recent, record),
      });
      now = outcome.schedule ?? (await this.begin(now.handled));
      if (outcome.type === 'done') return { stored: now, isNoted: true };
    }
  }

  pause(by: string): Promise<StoredSchedule> {
    return this.#keep(() => ({ pause: { isPaused: true, by } }));
  }

  /** What a clock that was ahead had called dealt with is not, unless a slot has its job. */
  resume(by: string, present: number): Promise<StoredSchedule> {
    return this.#keep((stored) => ({
      handled: Math.min(stored?.handled ?? present, present),
      pause: { isPaused: false, by },
    }));
  }

  async #keep(
    wanted: (stored: StoredSchedule | null) => Omit<ScheduleChange, 'expected'>,
  ): Promise<StoredSchedule> {
    let now = await this.read();
    for (;;) {
      const change = { expected: now?.handled ?? null, ...wanted(now) };
      const outcome = await this.#store.keepSchedule(this.#name, change);
      if (outcome.type === 'done') return outcome.schedule;
      now = outcome.schedule;
    }
  }
}

function isLeftOut({ recent }: StoredSchedule, slot: number): boolean {
  const outcome = recent.find(({ first, last }) => first <= slot && slot <= last)?.outcome;
  return outcome === 'busy' || outcome === 'missed';
}

/** What goes on as the record before is one with it. */
function withRecord(recent: readonly SlotRecord[], record: SlotRecord): SlotRecord[] {
  const last = recent.at(-1);
  const goesOn =
    last !== undefined &&
    record.outcome !== 'started' &&
    last.outcome === record.outcome &&
    last.reason === record.reason;
  if (goesOn) return [...recent.slice(0, -1), { ...record, first: last.first }];
  return [...recent, record].slice(-maxRecent);
}
