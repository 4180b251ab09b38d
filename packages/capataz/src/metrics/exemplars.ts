import type { Clock } from '../std/clock.ts';
import { durationBuckets } from './instruments.ts';

interface Exemplar {
  readonly correlationId: string;
  readonly value: number;
  /** ms since 1970 UTC */
  readonly at: number;
}

/** OpenMetrics allows 128 characters for names and values of an exemplar's labels together. */
const longestId = 128 - 'correlation_id'.length;

export const openMetricsType = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/**
 * Which job last moved a series, by its correlation id (H-36), and the OpenMetrics text that says so:
 * the plain format has no place for it. The library's own way changes the names of its counters for
 * good once they are asked for as OpenMetrics, so that both formats can't be offered.
 */
export class Exemplars {
  readonly #clock: Clock;
  readonly #bySeries = new Map<string, Exemplar>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  counted(name: string, correlationId: string): void {
    this.#note(name, correlationId, 1);
  }

  observed(name: string, state: string, seconds: number, correlationId: string): void {
    const bound = durationBuckets.find((one) => seconds <= one) ?? '+Inf';
    this.#note(`${name}_bucket{le="${bound}",state="${state}"}`, correlationId, seconds);
  }

  #note(series: string, correlationId: string, value: number): void {
    if (correlationId.length > longestId) return;
    this.#bySeries.set(series, { correlationId, value, at: this.#clock.now() });
  }

  /** @param plain the text format 0.0.4, as the library gives it */
  openMetrics(plain: string): string {
    const lines = plain.split('\n').filter((line) => line !== '');
    return `${lines.map((line) => this.#line(line)).join('\n')}\n# EOF\n`;
  }

  #line(line: string): string {
    // A counter's family has no suffix there, its samples have.
    if (line.startsWith('#')) return line.replace(/^(# (?:HELP|TYPE) \w+)_total /, '$1 ');
    const exemplar = this.#bySeries.get(line.slice(0, line.lastIndexOf(' ')));
    if (exemplar === undefined) return line;
    const { correlationId, value, at } = exemplar;
    return `${line} # {correlation_id="${correlationId}"} ${value} ${at / 1_000}`;
  }
}
