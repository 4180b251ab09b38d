/** A length of time as people write it: `500ms`, `10s`, `5m`, `1h30m`, `2d`. */
export type Duration = string;

const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const whole = /^(\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/;
const part = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/g;

/** Longest length accepted: 100 years, so that sums of instants stay exact integers. */
export const maxDurationMs = 100 * 365 * 86_400_000;

/**
 * @returns milliseconds, or undefined for what is no length of time. A bare number is refused,
 * since nobody can tell seconds from milliseconds by looking.
 */
export function parseDuration(text: string): number | undefined {
  if (!whole.test(text)) return undefined;
  let ms = 0;
  for (const [, amount, unit] of text.matchAll(part))
    ms += Number(amount) * (unitMs[unit ?? ''] ?? 0);
  return ms <= maxDurationMs ? Math.round(ms) : undefined;
}

/** `parseDuration` for text that a program wrote. @throws RangeError naming the text. */
export function durationMs(text: Duration): number {
  const ms = parseDuration(text);
  if (ms === undefined) {
    throw new RangeError(`"${text}" is no duration; write it like 500ms, 10s, 5m, 1h30m or 2d`);
  }
  return ms;
}

/** A spelling for people, in at most two units: 90_000 is `1m30s`. What is smaller is left out. */
export function formatDuration(ms: number): string {
  const rounded = Math.max(0, Math.round(ms));
  if (rounded < 1_000) return `${rounded}ms`;
  if (rounded < 9_950 && rounded % 1_000 !== 0) return `${(rounded / 1_000).toFixed(1)}s`;
  const parts: string[] = [];
  let rest = Math.round(rounded / 1_000) * 1_000;
  for (const unit of ['d', 'h', 'm', 's']) {
    const size = unitMs[unit] ?? 1;
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count}${unit}`);
  }
  return parts.slice(0, 2).join('');
}
