import { existsSync } from 'node:fs';
import { type Client, createClient } from '../client/index.ts';
import type { EffectiveConfig } from '../config/load.ts';
import { CapatazError } from '../protocol/errors.ts';
import { delay } from '../std/clock.ts';
import { describeHolder } from '../store/sqlite/index.ts';
import type { CliContext } from './context.ts';
import { processLog } from './process-log.ts';

/** Another command that works on the data folder is through in well under a second. */
const holderPatienceMs = 5_000;
const holderLookMs = 50;

/**
 * Lends a client of the server that is meant (S-67): the one that was named, else the one that
 * holds the data folder, else one of our own on that folder for as long as the work takes.
 * @throws CapatazError UNREACHABLE where there is none and nothing to embed one on
 */
export async function withClient<T>(
  config: EffectiveConfig,
  context: CliContext,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const url = config.values.url ?? (await holderUrl(config, context));
  if (url !== null) return work(clientOf(url, config));
  if (!mayEmbed(config)) {
    throw new CapatazError(
      'UNREACHABLE',
      `no server is named, and there is no data folder ${config.values.dataDir} to work on`,
    );
  }
  return withEmbedded(config, context, work);
}

/** A command in the wrong folder must not leave a new store behind. */
function mayEmbed({ values, sources }: EffectiveConfig): boolean {
  return existsSync(values.dataDir) || sources.dataDir !== 'default' || values.blueprints !== null;
}

/** @returns null when nobody holds the data folder. */
async function holderUrl(
  { values: { dataDir } }: EffectiveConfig,
  { clock }: CliContext,
): Promise<string | null> {
  const patientUntil = clock.steady() + holderPatienceMs;
  for (;;) {
    const holder = describeHolder(dataDir);
    if (holder === null) return null;
    if (holder.url !== null) return holder.url;
    if (clock.steady() > patientUntil) {
      throw new CapatazError(
        'STORE_IN_USE',
        `${dataDir} is held by process ${holder.pid} on ${holder.host}, which serves nobody`,
      );
    }
    await delay(clock, holderLookMs);
  }
}

async function withEmbedded<T>(
  config: EffectiveConfig,
  context: CliContext,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const values = { ...config.values, host: '127.0.0.1', port: 0, logLevel: 'warn' as const };
  const log = processLog(values, context);
  context.stderr.write(`no server runs on ${values.dataDir}: working on it directly\n`);
  // Loaded when it is needed: a server takes as long to load as all the rest.
  const { startServer } = await import('./compose.ts');
  const server = await startServer({ config: values, context, log });
  try {
    return await work(clientOf(server.url, config));
  } finally {
    await server.stop();
  }
}

function clientOf(url: string, { values: { token } }: EffectiveConfig): Client {
  return createClient({ url, ...(token === null ? {} : { token }) });
}
