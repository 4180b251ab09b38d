/**
 * How long the provider asks us to wait, in ms; null where it does not say so in a way that can be
 * read. `retry-after` is in seconds or a date of HTTP; a date counts from the `date` of the same
 * answer, so that it does not matter whose clock is wrong.
 */
export function retryAfterMs(
  headers: Readonly<Record<string, string | undefined>>,
  now: number,
): number | null {
  // OpenAI's and Azure's, which is finer.
  const ms = amount(headers['retry-after-ms']);
  if (ms !== null) return Math.ceil(ms);
  const value = headers['retry-after'];
  const seconds = amount(value);
  if (seconds !== null) return Math.ceil(seconds * 1_000);
  // `Date.parse` takes more than HTTP's dates for one, `-3` too.
  const date = /\d\d:\d\d:\d\d/.test(value ?? '') ? Date.parse(value ?? '') : Number.NaN;
  if (Number.isNaN(date)) return null;
  const sent = Date.parse(headers.date ?? '');
  return Math.max(0, date - (Number.isNaN(sent) ? now : sent));
}

function amount(text: string | undefined): number | null {
  return text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : null;
}
