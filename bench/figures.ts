/** One measured value. `params` say under which circumstances. */
export interface Figure {
  readonly workload: string;
  readonly params: Readonly<Record<string, number | string>>;
  readonly value: number;
  readonly unit: string;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
