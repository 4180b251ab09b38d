import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock, Log } from 'capataz/server';
import { originators } from '../contract/names.ts';
import { queues } from '../contract/queues.ts';
import { describeEnd } from '../performer/command.ts';
import { createGit } from '../performer/git.ts';
import { gitHubCredential } from '../performer/git-hub-credential.ts';
import { openLedger } from '../performer/ledger.ts';
import { createPerformer } from '../performer/performer.ts';
import { killStrays, ownerVariable } from '../performer/strays.ts';
import type { Service, ServiceWorld } from '../service.ts';
import { writeEtc } from './etc.ts';
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

export interface SandboxSettings {
  /** Its own: the ledger, logs, clones while a test lasts. Whoever runs the tests must get through to it. */
  readonly folder: string;
  /** The tests, as program and arguments: `['npm', 'test']`. They are right if they end with 0. */
  readonly command: readonly [string, ...string[]];
  /** For git and for finding tools: PATH, HOME. The tests see of it only PATH and `commandEnvironment`. */
  readonly environment: Readonly<Record<string, string>>;
  readonly commandEnvironment?: Readonly<Record<string, string>>;
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
}

const nobody = { uid: 65_534, gid: 65_534 };
const keepLogsMs = 30 * 86_400_000;

/**
 * The `sandbox-service`: merges pull requests and tests the outcome behind walls. What a killed one
 * has left behind, processes and clones, is cleared away here; orders are taken once it is started.
 * @throws Error where the walls can't be put up, or another process works with the folder
 */
export async function prepareSandbox(
  world: ServiceWorld,
  settings: SandboxSettings,
): Promise<Service> {
  const { clock } = world;
  const { folder } = settings;
  // The tests may run as another user, who has to get through but not to look around.
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  const ledger = openLedger(folder);
  killStrays(ownerVariable, folder);
  rmSync(join(folder, 'runs'), { recursive: true, force: true });
  removeOldLogs(join(folder, 'logs'), clock.now() - keepLogsMs);
  try {
    const parts = {
      git: gitOf(clock, settings),
      clock,
      folder,
      etc: writeEtc(folder),
      command: settings.command,
      environment: { PATH: settings.environment.PATH ?? '', ...settings.commandEnvironment },
      allowedRepositories: settings.allowedRepositories ?? [],
      tools: findTools(settings.environment.PATH ?? '', process.getuid?.() ?? -1),
    };
    const isolation = await provenIsolation(settings, world.log, parts);
    const performer = createPerformer({
      ...world,
      name: originators.sandbox,
      hasSessions: false,
      log: world.log.child({ service: originators.sandbox }),
      ledger,
      queue: queues.sandbox,
      runsAtOnce: settings.testsAtOnce ?? 1,
      ...(settings.progressMs === undefined ? {} : { progressMs: settings.progressMs }),
      work: createSandboxWork({ ...parts, isolation }),
    });
    return {
      start: () => performer.start(),
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

function gitOf(clock: Clock, { environment, gitHub, folder }: SandboxSettings) {
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
  settings: SandboxSettings,
  log: Log,
  parts: {
    readonly clock: Clock;
    readonly tools: Tools;
    readonly etc: string;
    readonly environment: Readonly<Record<string, string>>;
  },
): Promise<IsolationOptions> {
  const { isolation: wanted = 'bwrap' } = settings;
  const isolation: IsolationOptions = {
    mode: wanted === 'plain' ? 'plain' : 'bwrap',
    limits: { ...defaultLimits, ...settings.limits },
    hasNetwork: settings.hasNetwork ?? false,
    readOnlyPaths: settings.readOnlyPaths ?? [],
    user: settings.user ?? nobody,
  };
  const problem = await probe(settings.folder, { ...parts, isolation, command: ['true'] });
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
