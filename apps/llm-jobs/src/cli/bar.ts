import { systemClock } from 'capataz/server';
import type { AuditRecord } from '../books/audit-record.ts';

const drawEveryMs = 100;

/** On a terminal one line that moves, elsewhere one at the end. It goes to standard error. */
export class Bar {
  failed = 0;
  readonly #all: number;
  readonly #begun = systemClock.steady();
  #ended = 0;
  #paused = 0;
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

  /** They go on when a person says so, which may take its time: it is told where nothing moves, too. */
  pause(paused: number): void {
    this.#paused = paused;
    const before = process.stderr.isTTY ? '\r\u001b[K' : '';
    if (paused > 0) process.stderr.write(`${before}${pausedText(paused)}\n`);
    if (process.stderr.isTTY) process.stderr.write(this.#text());
  }

  end(): void {
    this.#paused = 0;
    process.stderr.write(`${process.stderr.isTTY ? '\r\u001b[K' : ''}${this.#text()}\n`);
  }

  #text(): string {
    return barOf({
      all: this.#all,
      ended: this.#ended,
      failed: this.failed,
      paused: this.#paused,
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
  readonly paused: number;
  readonly costUsd: number;
  readonly elapsedMs: number;
}

const width = 30;

function barOf({ all, ended, failed, paused, costUsd, elapsedMs }: Standing): string {
  const share = all === 0 ? 1 : ended / all;
  const filled = Math.round(share * width);
  const bar = `${'█'.repeat(filled)}${'░'.repeat(width - filled)}`;
  const left =
    ended === 0 ? '' : ` · ${Math.ceil(((elapsedMs / ended) * (all - ended)) / 1_000)} s left`;
  const waiting = paused === 0 ? '' : ` · ${paused} wait for approval`;
  return `${bar} ${ended}/${all} · ${failed} failed${waiting} · ${costUsd.toFixed(3)} USD${ended === all ? '' : left}`;
}

function pausedText(paused: number): string {
  const who = paused === 1 ? '1 job waits' : `${paused} jobs wait`;
  return `${who} for approval: capataz-llm approvals list`;
}
