import { dayMs, secondMs } from './wall-time.ts';

/** A stretch of time in which a zone's clocks are not changed. */
export interface Segment {
  /** First instant, and the first one behind it, in ms since 1970 UTC. */
  readonly start: number;
  readonly end: number;
  /** What the wall shows more than UTC, in ms. */
  readonly offset: number;
  /** The offset right before `start`: another one where clocks are changed there. */
  readonly before: number;
}

/** Changes of the clocks that undo each other within a week would be missed; no zone has any. */
const probeMs = 7 * dayMs;
/** Segments are cut at these bounds too, so that each stretch is searched once and then known. */
const stretchMs = 52 * probeMs;

/**
 * When a zone's clocks are changed, found by asking `Intl` week by week. Node 24 has no `Temporal`;
 * its polyfill would be 1 MB for what this file does.
 */
export class Zone {
  readonly name: string;
  readonly #format: Intl.DateTimeFormat;
  readonly #segments = new Map<number, readonly Segment[]>();

  /** @throws RangeError for a name that is no zone */
  constructor(name: string) {
    this.name = name;
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      timeZoneName: 'longOffset',
      year: 'numeric',
    });
  }

  segmentAt(instant: number): Segment {
    const stretch = Math.floor(instant / stretchMs);
    let segments = this.#segments.get(stretch);
    if (segments === undefined) {
      segments = this.#search(stretch * stretchMs);
      this.#segments.set(stretch, segments);
    }
    const found = segments.find(({ end }) => instant < end);
    if (found === undefined) throw new RangeError(`${instant} is no instant`);
    return found;
  }

  offsetAt(instant: number): number {
    return this.segmentAt(instant).offset;
  }

  /** When the wall shows this for the first time; what it never shows: the first instant behind it. */
  instantOf(wall: number): number {
    let segment = this.segmentAt(wall - 2 * dayMs);
    while (wall >= segment.end + segment.offset) segment = this.segmentAt(segment.end);
    return Math.max(segment.start, wall - segment.offset);
  }

  /** Changes of the clocks behind `after` up to `until`. */
  *changes(after: number, until: number): Generator<Segment> {
    for (let at = this.segmentAt(after).end; at <= until; ) {
      const segment = this.segmentAt(at);
      if (segment.before !== segment.offset) yield segment;
      at = segment.end;
    }
  }

  #search(from: number): Segment[] {
    const segments: Segment[] = [];
    let before = this.#ask(from - 1);
    let start = from;
    let offset = this.#ask(from);
    for (let at = from; at < from + stretchMs; at += probeMs) {
      if (this.#ask(at + probeMs - 1) === offset) continue;
      const change = this.#changeIn(at, at + probeMs - 1);
      segments.push({ start, end: change, offset, before });
      before = offset;
      start = change;
      offset = this.#ask(change);
    }
    return [...segments, { start, end: from + stretchMs, offset, before }];
  }

  /** @returns the first instant, to the second, that has another offset than `low` has. */
  #changeIn(low: number, high: number): number {
    const offset = this.#ask(low);
    let [same, other] = [Math.floor(low / secondMs), Math.ceil(high / secondMs)];
    while (other - same > 1) {
      const middle = Math.floor((same + other) / 2);
      if (this.#ask(middle * secondMs) === offset) same = middle;
      else other = middle;
    }
    return other * secondMs;
  }

  /** Reads `1970, GMT+05:30`; `GMT` alone is no offset. */
  #ask(instant: number): number {
    const match = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(this.#format.format(instant));
    const [, sign, hours = 0, minutes = 0, seconds = 0] = match ?? [];
    const size = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds);
    return (sign === '-' ? -size : size) * secondMs;
  }
}

const known = new Map<string, Zone>();

/** The one of this name: what it has found out is shared. @throws RangeError */
export function zoneOf(name: string): Zone {
  const zone = known.get(name) ?? new Zone(name);
  known.set(name, zone);
  return zone;
}

export function isZone(name: string): boolean {
  try {
    zoneOf(name);
    return true;
  } catch {
    return false;
  }
}
