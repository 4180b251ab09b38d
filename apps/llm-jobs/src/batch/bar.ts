/** How far a batch is, in one line for people. */
export interface Standing {
  readonly all: number;
  readonly ended: number;
  readonly failed: number;
  readonly costUsd: number;
  readonly elapsedMs: number;
}

const width = 30;

export function barOf({ all, ended, failed, costUsd, elapsedMs }: Standing): string {
  const share = all === 0 ? 1 : ended / all;
  const filled = Math.round(share * width);
  const bar = `${'█'.repeat(filled)}${'░'.repeat(width - filled)}`;
  const left =
    ended === 0 ? '' : ` · ${Math.ceil(((elapsedMs / ended) * (all - ended)) / 1_000)} s left`;
  return `${bar} ${ended}/${all} · ${failed} failed · ${costUsd.toFixed(3)} USD${ended === all ? '' : left}`;
}
