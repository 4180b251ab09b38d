import { existsSync } from 'node:fs';
import { limbo } from '../core/limbo.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { CausesQuery, JobCauses } from '../store/contract.ts';
import { openReading } from '../store/sqlite/database.ts';
import { describeHolder, openSqliteStore } from '../store/sqlite/index.ts';
import { storePaths } from '../store/sqlite/paths.ts';
import { Reads } from '../store/sqlite/reads.ts';
import type { CliContext } from './context.ts';

/** A job that nothing would move on. */
export interface Finding {
  readonly job: string;
  readonly blueprint: string;
  readonly state: string;
  readonly status: string;
  readonly reason: string;
}

export interface LimboCheck {
  /** Jobs that were looked at: those that have not ended. */
  readonly checked: number;
  readonly findings: readonly Finding[];
}

const sliceSize = 500;

/**
 * Looks at every job of a data folder that has not ended. A folder that a server holds is read
 * beside it, slice by slice, each slice as of one instant; another is opened and locked meanwhile.
 * @throws CapatazError CONFIG_INVALID when there is no store in the folder
 */
export async function checkFolder(folder: string, { clock }: CliContext): Promise<LimboCheck> {
  const { database } = storePaths({ folder });
  if (!existsSync(database)) {
    throw new CapatazError(
      'CONFIG_INVALID',
      `${folder} holds no store; name another with --data-dir`,
    );
  }
  if (describeHolder(folder) !== null) {
    const reads = new Reads(openReading(database));
    try {
      return await check((query) => reads.causes(query));
    } finally {
      reads.close();
    }
  }
  const store = await openSqliteStore({ folder, clock });
  try {
    return await check((query) => store.causes(query));
  } finally {
    await store.close();
  }
}

async function check(
  read: (query: CausesQuery) => readonly JobCauses[] | Promise<readonly JobCauses[]>,
): Promise<LimboCheck> {
  const findings: Finding[] = [];
  let checked = 0;
  let after = '';
  for (;;) {
    const slice = await read({ after, limit: sliceSize });
    for (const causes of slice) {
      const reason = limbo(causes);
      const { id, blueprint, state, status } = causes.job;
      if (reason !== null) findings.push({ job: id, blueprint, state, status, reason });
    }
    checked += slice.length;
    const last = slice.at(-1);
    if (last === undefined || slice.length < sliceSize) return { checked, findings };
    after = last.job.id;
  }
}
