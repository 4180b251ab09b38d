import { systemClock } from 'capataz/server';
import type { AuditRecord } from '../books/audit-record.ts';

const drawEveryMs = 100;

/** On a terminal one line that moves, elsewhere one at the end. It goes to standard error. */
export class Bar {
  failed = 0;
  readonly #all: number;
  readonly #begun = systemClock.steady();
  #ended = 0;
  #costUsd = 0;
  #drawnAt = Number.NEGATIVE_INFINITY;

  constructor(all: number) {
    this.#all = all;
  }

  count({ status, cost_usd }: Pick<AuditRecord, 'status' | 'cost_usd'>): void {
    this.#ended += 1;
    if (status === 'Failed') this.failed += 1;
    this.#costUsd += cost_usd;
    const now = systemClock.steady();
    if (!process.stderr.isTTY || now - this.#drawnAt < drawEveryMs) return;
    this.#drawnAt = now;
    process.stderr.write(`\r\u001b[K${this.#text()}`);
  }

  end(): void {
    process.stderr.write(`${process.stderr.isTTY ? '\r\u001b[K' : ''}${this.#text()}\n`);
  }

  #text(): string {
    return barOf({
      all: this.#all,
      ended: this.#ended,
      failed: this.failed,
      costUsd: this.#costUsd,
      elapsedMs: systemClock.steady() - this.#begun,
    });
  }
}

/** How far a batch is, in one line for people. */
interface Standing {
  readonly all: number;
  readonly ended: number;
  readonly failed: number;
  readonly costUsd: number;
  readonly elapsedMs: number;
}

const width = 30;

function barOf({ all, ended, failed, costUsd, elapsedMs }: Standing): string {
  const share = all === 0 ? 1 : ended / all;
  const filled = Math.round(share * width);
  const bar = `${'█'.repeat(filled)}${'░'.repeat(width - filled)}`;
  const left =
    ended === 0 ? '' : ` · ${Math.ceil(((elapsedMs / ended) * (all - ended)) / 1_000)} s left`;
  return `${bar} ${ended}/${all} · ${failed} failed · ${costUsd.toFixed(3)} USD${ended === all ? '' : left}`;
}
