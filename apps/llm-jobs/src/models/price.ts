import { isKnown, type TokenClass, tokenClasses, type Usage } from './contract.ts';
import type { NanoUsd, PicoUsd } from './money.ts';

/** What the tokens of a model cost; null where nobody said. */
export interface Price {
  readonly perToken: Readonly<Record<TokenClass, PicoUsd | null>>;
  /** The day on which it was looked up, `2026-11-28`. */
  readonly date: string;
}

/**
 * What a call cost, rounded half up to a nano-dollar. Null: its tokens, or the price of a class that it
 * used, are unknown. Unknown is never zero.
 */
export function costOf(usage: Usage, price: Price | null): NanoUsd | null {
  if (!isKnown(usage)) return null;
  let picoUsd = 0n;
  for (const name of tokenClasses) {
    const tokens = usage[name];
    if (tokens === 0) continue;
    const perToken = price?.perToken[name] ?? null;
    if (perToken === null) return null;
    picoUsd += BigInt(tokens) * BigInt(perToken);
  }
  return Number((picoUsd + 500n) / 1000n);
}
