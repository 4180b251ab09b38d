import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { originators } from '../contract/names.ts';
import { queues } from '../contract/queues.ts';
import { createGit } from '../performer/git.ts';
import { gitHubCredential } from '../performer/git-hub-credential.ts';
import { openLedger } from '../performer/ledger.ts';
import { createPerformer } from '../performer/performer.ts';
import { killStrays, ownerVariable } from '../performer/strays.ts';
import type { Service, ServiceWorld } from '../service.ts';
import type { Agent } from './agent.ts';
import { branchForge, createGitHubForge } from './forge.ts';
import { createSmithWork } from './smith-work.ts';
import { createWorkspaces } from './workspaces.ts';

export interface SmithSettings {
  readonly agent: Agent;
  /** Its own: the ledger, copies of repositories, worktrees while a turn lasts. */
  readonly folder: string;
  /** For git: PATH and HOME, and what a proxy or ssh want. The agent has an environment of its own. */
  readonly environment: Readonly<Record<string, string>>;
  /** Pull requests on GitHub, for the repositories that lie there. Default: branches alone. */
  readonly gitHub?: { readonly token: string; readonly webUrl?: string; readonly apiUrl?: string };
  /** Beginnings of repositories, in whole path segments. Default: all. */
  readonly allowedRepositories?: readonly string[];
  /** Default `capataz/`. */
  readonly branchPrefix?: string;
  /** Of the commits that the agent leaves to the smith. Default `Capataz <capataz@localhost>`. */
  readonly author?: { readonly name: string; readonly email: string };
  /** Agents at once. Default 2. */
  readonly agentsAtOnce?: number;
  /** Default 30 s: what the agent says is passed on so often, unasked. */
  readonly progressMs?: number;
}

/**
 * The `herrero-adapter-service`: takes the smith's orders from the bus and has an agent carry them
 * out. What a killed one has left behind, processes and worktrees, is cleared away here; orders are
 * taken once it is started.
 * @throws Error where another process works with the folder
 */
export async function prepareSmith(world: ServiceWorld, settings: SmithSettings): Promise<Service> {
  const { clock, newId } = world;
  const { folder, gitHub } = settings;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const ledger = openLedger(folder);
  killStrays(ownerVariable, folder);
  const credential = gitHub === undefined ? {} : gitHubCredential(gitHub);
  const git = createGit({
    clock,
    environment: {
      ...settings.environment,
      ...credential,
      // A copy that is none any more shall not have git look for one in the folders around it.
      GIT_CEILING_DIRECTORIES: resolve(folder, 'repositories'),
      [ownerVariable]: folder,
    },
    author: settings.author ?? { name: 'Capataz', email: 'capataz@localhost' },
  });
  const workspaces = createWorkspaces(folder, git);
  await workspaces.sweep();
  const performer = createPerformer({
    ...world,
    name: originators.smith,
    hasSessions: true,
    log: world.log.child({ service: originators.smith }),
    ledger,
    queue: queues.smith,
    runsAtOnce: settings.agentsAtOnce ?? 2,
    ...(settings.progressMs === undefined ? {} : { progressMs: settings.progressMs }),
    work: createSmithWork({
      agent: settings.agent,
      workspaces,
      forge: gitHub === undefined ? branchForge : createGitHubForge({ ...gitHub, clock }),
      folder,
      newId,
      allowedRepositories: settings.allowedRepositories ?? [],
      branchPrefix: settings.branchPrefix ?? 'capataz/',
    }),
  });
  return {
    start: () => performer.start(),
    async stop() {
      await performer.stop();
      ledger.close();
    },
  };
}
