import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Bus } from 'capataz/bus';
import type { Clock, Log } from 'capataz/server';
import { originators } from '../contract/names.ts';
import { describeEnd } from '../performer/command.ts';
import { createGit } from '../performer/git.ts';
import { gitHubCredential } from '../performer/git-hub-credential.ts';
import { openLedger } from '../performer/ledger.ts';
import { createPerformer } from '../performer/performer.ts';
import { killStrays, ownerVariable } from '../performer/strays.ts';
import {
  defaultLimits,
  findTools,
  type Isolation,
  type IsolationOptions,
  type Limits,
  type Tools,
} from './isolation.ts';
import { removeOldLogs } from './run-log.ts';
import { createSandboxWork, runWrapped } from './sandbox-work.ts';

export interface SandboxOptions {
  readonly bus: Bus;
  /** Its own: the ledger, logs, clones while a test lasts. Whoever runs the tests must get through to it. */
  readonly folder: string;
  /** The tests, as program and arguments: `['npm', 'test']`. They are right if they end with 0. */
  readonly command: readonly [string, ...string[]];
  /** For git and for finding tools: PATH, HOME. The tests see of it only PATH and `commandEnvironment`. */
  readonly environment: Readonly<Record<string, string>>;
  readonly commandEnvironment?: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
  /** `auto` isolates where that can be done, and else says loudly that it does not. Default `bwrap`. */
  readonly isolation?: Isolation | 'auto';
  readonly limits?: Partial<Limits>;
  /** Default false. */
  readonly hasNetwork?: boolean;
  /** Default none. */
  readonly readOnlyPaths?: readonly string[];
  /** Default nobody (65534), when the service is root. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** For private repositories on GitHub. */
  readonly gitHub?: { readonly token: string; readonly webUrl?: string };
  /** Beginnings of repositories, in whole path segments. Default: all. */
  readonly allowedRepositories?: readonly string[];
  /** Default 1. */
  readonly testsAtOnce?: number;
  /** Default 30 s. */
  readonly progressMs?: number;
  /** Default `sandbox`. */
  readonly durable?: string;
}

export interface Service {
  stop(): Promise<void>;
}

const nobody = { uid: 65_534, gid: 65_534 };
const keepLogsMs = 30 * 86_400_000;

/**
 * The `sandbox-service`: merges pull requests and tests the outcome behind walls. What a killed one
 * has left behind, processes and clones, is cleared away first.
 * @throws Error where the walls can't be put up, or another process works with the folder
 */
export async function startSandbox(options: SandboxOptions): Promise<Service> {
  const { folder, clock } = options;
  // The tests may run as another user, who has to get through but not to look around.
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  const ledger = openLedger(folder);
  killStrays(ownerVariable, folder);
  rmSync(join(folder, 'runs'), { recursive: true, force: true });
  removeOldLogs(join(folder, 'logs'), clock.now() - keepLogsMs);
  try {
    const parts = {
      git: gitOf(options),
      clock,
      folder,
      command: options.command,
      environment: { PATH: options.environment.PATH ?? '', ...options.commandEnvironment },
      allowedRepositories: options.allowedRepositories ?? [],
      tools: findTools(options.environment.PATH ?? '', process.getuid?.() ?? -1),
    };
    const isolation = await provenIsolation(options, parts);
    const performer = createPerformer({
      name: originators.sandbox,
      bus: options.bus,
      durable: options.durable ?? 'sandbox',
      ledger,
      clock,
      log: options.log.child({ service: originators.sandbox }),
      newId: options.newId,
      orders: ['tarea.probar_integracion'],
      runsAtOnce: options.testsAtOnce ?? 1,
      ...(options.progressMs === undefined ? {} : { progressMs: options.progressMs }),
      work: createSandboxWork({ ...parts, isolation }),
    });
    performer.start();
    return {
      async stop() {
        await performer.stop();
        ledger.close();
      },
    };
  } catch (error) {
    ledger.close();
    throw error;
  }
}

function gitOf({ clock, environment, gitHub, folder }: SandboxOptions) {
  const credential = gitHub === undefined ? {} : gitHubCredential(gitHub);
  return createGit({
    clock,
    environment: { ...environment, ...credential, [ownerVariable]: folder },
    author: { name: 'Capataz sandbox', email: 'sandbox@localhost' },
  });
}

/**
 * Puts the walls up once around nothing: that they can't be is said at the start and not in the
 * middle of a task. With `auto` it then does without them, loudly.
 */
async function provenIsolation(
  options: SandboxOptions,
  parts: {
    readonly clock: Clock;
    readonly tools: Tools;
    readonly environment: Readonly<Record<string, string>>;
  },
): Promise<IsolationOptions> {
  const { isolation: wanted = 'bwrap', log } = options;
  const isolation: IsolationOptions = {
    mode: wanted === 'plain' ? 'plain' : 'bwrap',
    limits: { ...defaultLimits, ...options.limits },
    hasNetwork: options.hasNetwork ?? false,
    readOnlyPaths: options.readOnlyPaths ?? [],
    user: options.user ?? nobody,
  };
  const problem = await probe(options.folder, { ...parts, isolation, command: ['true'] });
  if (problem === null) return isolation;
  if (wanted !== 'auto') throw new Error(`the sandbox can't isolate tests here: ${problem}`);
  log.warn(`NOT ISOLATED: the sandbox can't isolate tests here: ${problem}`);
  return { ...isolation, mode: 'plain' };
}

/** @returns why it can't be done, or null */
async function probe(
  folder: string,
  parts: Parameters<typeof runWrapped>[0],
): Promise<string | null> {
  const place = join(folder, 'probe');
  mkdirSync(place, { recursive: true, mode: 0o755 });
  const { signal } = new AbortController();
  let said = '';
  try {
    const ended = await runWrapped(
      parts,
      { folder: place, marks: { [ownerVariable]: folder }, signal },
      (text) => {
        said += text;
      },
    );
    return ended.how === 'exited' && ended.code === 0 ? null : `${describeEnd(ended)}: ${said}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
