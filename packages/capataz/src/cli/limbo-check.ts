import { existsSync } from 'node:fs';
import { openStore } from '../compose/open-store.ts';
import type { Config } from '../config/settings.ts';
import { limbo } from '../core/limbo.ts';
import { HeldAttempts } from '../engine/attempts.ts';
import { Committer } from '../engine/committer.ts';
import { Decider } from '../engine/decider.ts';
import { JobCache } from '../engine/job-cache.ts';
import { Lobby } from '../engine/lobby.ts';
import { Profiles } from '../engine/profiles.ts';
import { Registry } from '../engine/registry.ts';
import { defaultSettings } from '../engine/settings.ts';
import { CapatazError } from '../protocol/errors.ts';
import { silentLog } from '../std/log.ts';
import type { CausesQuery, JobCauses, Store } from '../store/contract.ts';
import { openReading } from '../store/sqlite/database.ts';
import { describeHolder } from '../store/sqlite/index.ts';
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
  /** It was parked, for a person to redrive or dismiss it. */
  readonly repaired: boolean;
}

export interface LimboCheck {
  /** Jobs that were looked at: those that have not ended. */
  readonly checked: number;
  readonly findings: readonly Finding[];
}

const sliceSize = 500;

/**
 * Looks at every job of the store that has not ended. A folder that a server holds is read beside it,
 * slice by slice, each slice as of one instant; another is opened and locked meanwhile.
 * @throws CapatazError CONFIG_INVALID when there is no store in the folder
 */
export async function checkStore(config: Config, context: CliContext): Promise<LimboCheck> {
  const { storeUrl, dataDir } = config;
  if (storeUrl === null && describeHolder(dataDir) !== null) {
    const reads = new Reads(openReading(requireStore(dataDir)));
    try {
      return await check((query) => reads.causes(query));
    } finally {
      reads.close();
    }
  }
  return withStore(config, context, (store) => check((query) => store.causes(query)));
}

async function withStore<T>(
  config: Config,
  { clock }: CliContext,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  if (config.storeUrl === null) requireStore(config.dataDir);
  const { store } = await openStore(config, clock, silentLog);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** @returns the path of the database */
function requireStore(folder: string): string {
  const { database } = storePaths({ folder });
  if (existsSync(database)) return database;
  throw new CapatazError(
    'CONFIG_INVALID',
    `${folder} holds no store; name another with --data-dir`,
  );
}

/**
 * Looks at the same, and parks what it finds. No server may hold the folder meanwhile: what it
 * remembers of those jobs would be wrong. Those that share a store remember nothing without a doubt.
 * @throws CapatazError CONFIG_INVALID, STORE_IN_USE
 */
export function repairStore(config: Config, context: CliContext): Promise<LimboCheck> {
  return withStore(config, context, async (store) => {
    const { checked, findings } = await check((query) => store.causes(query));
    const decider = deciderOn(store, context);
    const applied = await decider.all(
      findings.map(({ job, reason }) => ({
        jobId: job,
        signal: () => ({ type: 'stranded', problem: reason }),
      })),
    );
    const isDone = (index: number): boolean => applied[index]?.type === 'done';
    return {
      checked,
      findings: findings.map((finding, index) => ({ ...finding, repaired: isDone(index) })),
    };
  });
}

/** Decides and commits as a server does, and starts nothing. To park a job needs no blueprint. */
function deciderOn(store: Store, { clock, random }: CliContext): Decider {
  const held = new HeldAttempts();
  const shared = { store, held, cache: new JobCache(), clock, random, log: silentLog };
  return new Decider({
    ...shared,
    registry: new Registry([]),
    committer: new Committer({
      ...shared,
      lobby: new Lobby({ held, random, profiles: new Profiles() }),
    }),
    maxTransitions: defaultSettings.maxTransitions,
    client: (name) => ({ name, plan: null, params: {} }),
    blackouts: { has: () => false },
    offerLease: () => null,
    liveForMs: () => Number.POSITIVE_INFINITY,
  });
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
      const repaired = false;
      if (reason !== null) findings.push({ job: id, blueprint, state, status, reason, repaired });
    }
    checked += slice.length;
    const last = slice.at(-1);
    if (last === undefined || slice.length < sliceSize) return { checked, findings };
    after = last.job.id;
  }
}
