import { mkdirSync } from 'node:fs';
import type { Bus } from 'capataz/bus';
import type { Clock, Log } from 'capataz/server';
import { originators } from '../contract/names.ts';
import { createGit } from '../performer/git.ts';
import { gitHubCredential } from '../performer/git-hub-credential.ts';
import { openLedger } from '../performer/ledger.ts';
import { createPerformer } from '../performer/performer.ts';
import { killStrays, ownerVariable } from '../performer/strays.ts';
import type { Agent } from './agent.ts';
import { branchForge, createGitHubForge } from './forge.ts';
import { createSmithWork } from './smith-work.ts';
import { createWorkspaces } from './workspaces.ts';

export interface SmithOptions {
  readonly bus: Bus;
  readonly agent: Agent;
  /** Its own: the ledger, copies of repositories, worktrees while a turn lasts. */
  readonly folder: string;
  /** For git: PATH and HOME, and what a proxy or ssh want. The agent has an environment of its own. */
  readonly environment: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
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
  /** Default `herrero-adapter`. */
  readonly durable?: string;
}

export interface Service {
  stop(): Promise<void>;
}

/**
 * The `herrero-adapter-service`: takes the smith's orders from the bus and has an agent carry them
 * out. What a killed one has left behind, processes and worktrees, is cleared away first.
 * @throws Error where another process works with the folder
 */
export async function startSmith(options: SmithOptions): Promise<Service> {
  const { folder, clock, gitHub } = options;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const ledger = openLedger(folder);
  killStrays(ownerVariable, folder);
  const credential = gitHub === undefined ? {} : gitHubCredential(gitHub);
  const git = createGit({
    clock,
    environment: { ...options.environment, ...credential, [ownerVariable]: folder },
    author: options.author ?? { name: 'Capataz', email: 'capataz@localhost' },
  });
  const workspaces = createWorkspaces(folder, git);
  await workspaces.sweep();
  const performer = createPerformer({
    name: originators.smith,
    bus: options.bus,
    durable: options.durable ?? 'herrero-adapter',
    ledger,
    clock,
    log: options.log.child({ service: originators.smith }),
    newId: options.newId,
    orders: ['tarea.generar_plan', 'tarea.aprobar_plan', 'tarea.enviar_feedback'],
    runsAtOnce: options.agentsAtOnce ?? 2,
    ...(options.progressMs === undefined ? {} : { progressMs: options.progressMs }),
    work: createSmithWork({
      agent: options.agent,
      workspaces,
      forge: gitHub === undefined ? branchForge : createGitHubForge({ ...gitHub, clock }),
      folder,
      newId: options.newId,
      allowedRepositories: options.allowedRepositories ?? [],
      branchPrefix: options.branchPrefix ?? 'capataz/',
    }),
  });
  performer.start();
  return {
    async stop() {
      await performer.stop();
      ledger.close();
    },
  };
}
