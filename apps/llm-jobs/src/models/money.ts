/**
 * Money is counted in whole nano-dollars (1e-9 USD), so that sums are exact. Micro-dollars would be too
 * coarse: a token read from a cache costs a tenth of one. A number holds nine million USD exactly.
 */
export type NanoUsd = number;

/** What a token costs, in whole pico-dollars (1e-12 USD): prices are quoted for a million tokens. */
export type PicoUsd = number;

/** @throws TypeError unless it is a decimal number from zero on with at most 9 decimals, as `0.005` */
export function nanoUsd(usd: string | number): NanoUsd {
  return scaled(usd, 9);
}

/** @param usdPerMillion USD for a million tokens, at most 6 decimals. @throws TypeError otherwise */
export function picoUsdPerToken(usdPerMillion: string | number): PicoUsd {
  return scaled(usdPerMillion, 6);
}

/** For JSON: the number that is nearest. */
export function usdNumber(amount: NanoUsd): number {
  return amount / 1e9;
}

/** For people and CSV: exact, without needless zeros. */
export function usdText(amount: NanoUsd): string {
  const digits = String(Math.abs(amount)).padStart(10, '0');
  const decimals = digits.slice(-9).replace(/0+$/, '');
  const sign = amount < 0 ? '-' : '';
  return `${sign}${digits.slice(0, -9)}${decimals === '' ? '' : `.${decimals}`}`;
}

/** The whole number `value × 10^decimals`, read off the digits: no float is multiplied. */
function scaled(value: string | number, decimals: number): number {
  const text = String(value);
  const [, whole = '', fraction = ''] = /^(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  const digits = fraction.replace(/0+$/, '');
  const result = Number(`${whole}${digits.padEnd(decimals, '0')}`);
  if (whole === '' || digits.length > decimals || !Number.isSafeInteger(result)) {
    throw new TypeError(
      `must be an amount of USD from zero on with at most ${decimals} decimals, not ${text}`,
    );
  }
  return result;
}
