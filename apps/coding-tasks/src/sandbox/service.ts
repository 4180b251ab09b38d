import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock, Log } from 'capataz/server';
import { originators } from '../contract/names.ts';
import { queues } from '../contract/queues.ts';
import { describeEnd } from '../performer/command.ts';
import { createGit } from '../performer/git.ts';
import { gitHubCredential } from '../performer/git-hub-credential.ts';
import { openLedger } from '../performer/ledger.ts';
import { createPerformer } from '../performer/performer.ts';
import { removeTree } from '../performer/remove-tree.ts';
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
import { createSandboxWork, runWrapped, setUpsName } from './sandbox-work.ts';
import { removeOldSetUps } from './set-up.ts';
import { planFor, type SetUp, type TestPlan } from './test-plan.ts';

export interface TestSettings {
  /** Program and arguments: `['npm', 'test']`. They are right if they end with 0. */
  readonly command: readonly [string, ...string[]];
  /** Default none. */
  readonly setUp?: SetUp | null;
  readonly limits?: Partial<Limits>;
  /** Default false. */
  readonly hasNetwork?: boolean;
  /** Default none. */
  readonly readOnlyPaths?: readonly string[];
}

export interface SandboxSettings {
  /** Its own: the ledger, logs, clones while a test lasts. Whoever runs the tests must get through to it. */
  readonly folder: string;
  /** How changes are tested: what is given, over the defaults. */
  readonly tests: TestSettings;
  /** The same for single repositories, each over `tests`. */
  readonly repositories?: readonly (Partial<TestSettings> & { readonly repository: string })[];
  /** For git and for finding tools: PATH, HOME. The tests see of it only PATH and `commandEnvironment`. */
  readonly environment: Readonly<Record<string, string>>;
  readonly commandEnvironment?: Readonly<Record<string, string>>;
  /** `auto` isolates where that can be done, and else says loudly that it does not. Default `bwrap`. */
  readonly isolation?: Isolation | 'auto';
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
const keepMs = 30 * 86_400_000;

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
  removeTree(join(folder, 'runs'));
  removeOldLogs(join(folder, 'logs'), clock.now() - keepMs);
  removeOldSetUps(join(folder, setUpsName), clock.now() - keepMs);
  try {
    const parts = {
      git: gitOf(clock, settings),
      clock,
      folder,
      etc: writeEtc(folder),
      environment: { PATH: settings.environment.PATH ?? '', ...settings.commandEnvironment },
      allowedRepositories: settings.allowedRepositories ?? [],
      tools: findTools(settings.environment.PATH ?? '', process.getuid?.() ?? -1),
    };
    const walls = await provenWalls(settings, world.log, parts);
    const planOf = plansOf(settings);
    const performer = createPerformer({
      ...world,
      name: originators.sandbox,
      hasSessions: false,
      log: world.log.child({ service: originators.sandbox }),
      ledger,
      queue: queues.sandbox,
      runsAtOnce: settings.testsAtOnce ?? 1,
      ...(settings.progressMs === undefined ? {} : { progressMs: settings.progressMs }),
      work: createSandboxWork({ ...parts, walls, planOf }),
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

/** @returns how a repository is tested */
function plansOf({ tests, repositories = [] }: SandboxSettings): (repository: string) => TestPlan {
  const plan = (own: Partial<TestSettings>): TestPlan => {
    const { command, setUp = null, hasNetwork = false, readOnlyPaths = [] } = { ...tests, ...own };
    const limits = { ...defaultLimits, ...tests.limits, ...own.limits };
    return { command, setUp, hasNetwork, readOnlyPaths, limits };
  };
  const plans = repositories.map(({ repository, ...own }) => ({ repository, plan: plan(own) }));
  return (repository) => planFor(repository, plans, plan({}));
}

/**
 * Puts the walls up once around nothing: that they can't be is said at the start and not in the
 * middle of a task. With `auto` it then does without them, loudly.
 */
async function provenWalls(
  settings: SandboxSettings,
  log: Log,
  parts: {
    readonly clock: Clock;
    readonly tools: Tools;
    readonly etc: string;
    readonly environment: Readonly<Record<string, string>>;
  },
): Promise<Pick<IsolationOptions, 'mode' | 'user'>> {
  const { isolation: wanted = 'bwrap', user = nobody, folder } = settings;
  const plain = { mode: 'plain', user } as const;
  if (wanted === 'plain') {
    log.warn(`${notIsolated}: isolation is "plain"`);
    return plain;
  }
  const walls = { mode: 'bwrap', user } as const;
  const around = { limits: defaultLimits, hasNetwork: false, readOnlyPaths: [] };
  const problem = await probe(folder, {
    ...{ ...parts, command: ['true'], isolation: { ...walls, ...around } },
  });
  if (problem === null) return walls;
  if (wanted !== 'auto') throw new Error(`the sandbox can't isolate tests here: ${problem}`);
  log.warn(`${notIsolated}: ${problem}`);
  return plain;
}

const notIsolated =
  'NOT ISOLATED: tests, and with them what agents write, may do all that this service may';

/** @returns why it can't be done, or null */
async function probe(
  folder: string,
  parts: Parameters<typeof runWrapped>[0],
): Promise<string | null> {
  const place = join(folder, 'probe');
  mkdirSync(place, { recursive: true, mode: 0o755 });
  const { signal } = new AbortController();
  let said = '';
  const hear = (text: string): void => {
    said += text;
  };
  try {
    const ended = await runWrapped(
      parts,
      { folder: place, marks: { [ownerVariable]: folder }, signal },
      { onOutput: hear, onWarning: () => undefined },
    );
    return ended.how === 'exited' && ended.code === 0 ? null : `${describeEnd(ended)}: ${said}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
