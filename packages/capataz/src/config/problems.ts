import { CapatazError } from '../protocol/errors.ts';

/** One thing that is wrong, and where: file (or environment, or flags), entry and field. */
export interface Problem {
  readonly where: string;
  readonly message: string;
}

/** Collects everything that is wrong, so that one start tells it all. */
export class Problems {
  readonly #found: Problem[] = [];

  add(where: string, message: string): void {
    this.#found.push({ where, message });
  }

  /** @throws CapatazError CONFIG_INVALID that lists every problem, if there is one. */
  throwIfAny(): void {
    if (this.#found.length === 0) return;
    const lines = this.#found.map(({ where, message }) => `${where}: ${message}`);
    throw new CapatazError('CONFIG_INVALID', lines.join('\n'), {
      problems: this.#found.map(({ where, message }) => ({ where, message })),
    });
  }
}

/** @returns the known word that was probably meant. */
export function nearest(word: string, known: readonly string[]): string | null {
  const allowed = word.length > 5 ? 2 : 1;
  let best: string | null = null;
  let bestDistance = allowed + 1;
  for (const candidate of known) {
    const distance = editDistance(word, candidate);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Insertions, deletions, changes and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + change);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) cost = Math.min(cost, at(beforeLast, j - 2) + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
