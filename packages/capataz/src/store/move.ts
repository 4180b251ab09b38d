import { createHash } from 'node:crypto';
import { CapatazError } from '../protocol/errors.ts';
import { type Chest, columnsOf, type RecordKind, type RecordOf, recordKindNames } from './chest.ts';
import { refuseMarked } from './move-marks.ts';

export interface MoveParts {
  readonly from: Chest;
  readonly to: Chest;
  /** Names this move, on both stores. */
  readonly id: string;
  /** What lies beside the records (files): copied and compared before the source is marked. */
  readonly copyBeside?: () => Promise<void>;
  readonly onProgress?: (progress: MoveProgress) => void;
}

/** `records` of `total` of this kind are through; the steps without a kind happen once, in this order. */
export type MoveProgress =
  | { readonly step: 'begun' | 'settled' | 'verified' | 'source_marked' | 'done' }
  | {
      readonly step: 'copied' | 'compared';
      readonly kind: RecordKind;
      readonly records: number;
      readonly total: number;
    };

export interface MovedKind {
  readonly kind: RecordKind;
  readonly records: number;
  /** SHA-256 over the records in their order. */
  readonly hash: string;
}

export interface MoveReport {
  /** Nothing was copied: an earlier move had verified everything and had only this left to say. */
  readonly isResumed: boolean;
  readonly kinds: readonly MovedKind[];
}

/**
 * Carries everything from one store to another (S-50). The target is `incomplete` from before the
 * first record until all were read again and compared; then the source is marked as `moved`, and only
 * after that the target is free. So never can both be used: whoever is killed in between leaves
 * either the source as it was, or a move that has to be run once more for its last step.
 * @throws CapatazError STORE_MOVED, STORE_INCOMPLETE, STORE_NOT_EMPTY, STORE_UNAVAILABLE
 */
export async function move(parts: MoveParts): Promise<MoveReport> {
  const { from, to, id, copyBeside, onProgress = () => undefined } = parts;
  const canFinish = await checkMove(from, to);
  if (!canFinish) {
    await to.begin(id, from.name);
    onProgress({ step: 'begun' });
    const totals = await from.count();
    const kinds: MovedKind[] = [];
    for (const kind of recordKindNames)
      kinds.push(await copy(parts, kind, totals.get(kind) ?? 0, onProgress));
    await to.settle();
    onProgress({ step: 'settled' });
    for (const copied of kinds) await compare(to, copied, onProgress);
    await copyBeside?.();
    await to.setMark({ state: 'verified', move: id, other: from.name });
    onProgress({ step: 'verified' });
    await from.setMark({ state: 'moved', move: id, other: to.name });
    onProgress({ step: 'source_marked' });
    await to.setMark({ state: 'none' });
    onProgress({ step: 'done' });
    return { isResumed: false, kinds };
  }
  await to.setMark({ state: 'none' });
  onProgress({ step: 'done' });
  return { isResumed: true, kinds: [] };
}

/**
 * Whether the move may begin.
 * @returns whether only its last step is left.
 * @throws CapatazError STORE_MOVED, STORE_INCOMPLETE, STORE_NOT_EMPTY
 */
export async function checkMove(from: Chest, to: Chest): Promise<boolean> {
  const left = from.mark;
  const isSame =
    left.state === 'moved' && to.mark.state === 'verified' && left.move === to.mark.move;
  if (isSame) return true;
  if (left.state !== 'none') refuseMarked(from.name, left);
  if (!from.exists) {
    throw new CapatazError(
      'CONFIG_INVALID',
      `${from.name} holds no store; name another with --from`,
    );
  }
  await refuseFull(to);
  return false;
}

async function refuseFull(to: Chest): Promise<void> {
  const { mark, name, emptying } = to;
  if (mark.state === 'incomplete' || mark.state === 'verified') return;
  if (mark.state === 'moved') {
    const message = `${name} was moved to ${mark.other} and still holds what was left behind. The target of a move has to be empty: ${emptying}`;
    throw new CapatazError('STORE_NOT_EMPTY', message, { store: name });
  }
  const found = await to.count();
  const full = [...found].filter(([kind]) => kind !== 'mark').map(([kind, n]) => `${n} ${kind}`);
  if (full.length === 0) return;
  const message = `${name} holds records (${full.join(', ')}). The target of a move has to be empty: ${emptying}`;
  throw new CapatazError('STORE_NOT_EMPTY', message, { store: name });
}

async function copy(
  { from, to }: MoveParts,
  kind: RecordKind,
  total: number,
  onProgress: (progress: MoveProgress) => void,
): Promise<MovedKind> {
  const tally = new Tally(kind);
  for await (const records of from.read(kind)) {
    await to.write(kind, records);
    tally.add(records);
    onProgress({ step: 'copied', kind, records: tally.records, total });
  }
  return tally.result();
}

async function compare(
  to: Chest,
  copied: MovedKind,
  onProgress: (progress: MoveProgress) => void,
): Promise<void> {
  const { kind, records: total, hash } = copied;
  const tally = new Tally(kind);
  for await (const records of to.read(kind)) {
    tally.add(records);
    onProgress({ step: 'compared', kind, records: tally.records, total });
  }
  const found = tally.result();
  if (found.hash === hash && found.records === total) return;
  throw new CapatazError(
    'STORE_INCOMPLETE',
    `What ${to.name} gives back of ${kind} is not what was written: ${found.records} records for ${total}, or other ones. The source was not touched.`,
    { store: to.name, kind, records: found.records, expected: total },
  );
}

/** Counts and hashes the records of a kind in the order in which they come. */
class Tally {
  readonly #kind: RecordKind;
  readonly #columns: readonly string[];
  readonly #hash = createHash('sha256');
  #records = 0;

  constructor(kind: RecordKind) {
    this.#kind = kind;
    this.#columns = columnsOf(kind).map(([name]) => name);
  }

  get records(): number {
    return this.#records;
  }

  add<K extends RecordKind>(records: readonly RecordOf<K>[]): void {
    for (const record of records) {
      const values: Readonly<Record<string, unknown>> = { ...record };
      this.#hash.update(`${JSON.stringify(this.#columns.map((name) => values[name]))}\n`);
    }
    this.#records += records.length;
  }

  /** Once. */
  result(): MovedKind {
    return { kind: this.#kind, records: this.#records, hash: this.#hash.digest('hex') };
  }
}
