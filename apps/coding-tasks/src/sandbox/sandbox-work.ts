import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from 'capataz/server';
import { payloads } from '../contract/payloads.ts';
import { describeEnd, type Ended, runCommand } from '../performer/command.ts';
import { type Git, GitError } from '../performer/git.ts';
import type { Run } from '../performer/ledger.ts';
import { removeTree } from '../performer/remove-tree.ts';
import {
  branchRef,
  type PullRequestPlace,
  pullRequestPlace,
  RepositoryRefused,
} from '../performer/repository-url.ts';
import { killRun, marksOf } from '../performer/strays.ts';
import { type Work, type WorkControl, type WorkEnd, WorkFailed } from '../performer/work.ts';
import { type IsolationOptions, type Tools, wrapped } from './isolation.ts';
import { mergedClone } from './merge.ts';
import { RunLog } from './run-log.ts';
import { setUp } from './set-up.ts';
import type { TestPlan } from './test-plan.ts';

/** Within the service's folder: what set-ups have made. */
export const setUpsName = 'set-ups';

export interface SandboxParts {
  readonly git: Git;
  readonly clock: Clock;
  readonly folder: string;
  /** What is run in the merged clone of a repository. */
  readonly planOf: (repository: string) => TestPlan;
  /** Written by `writeEtc`. */
  readonly etc: string;
  /** What the command sees. */
  readonly environment: Readonly<Record<string, string>>;
  readonly walls: Pick<IsolationOptions, 'mode' | 'user'>;
  readonly tools: Tools;
  readonly allowedRepositories: readonly string[];
}

interface Verdict {
  readonly isRight: boolean;
  readonly log: string;
}

/** Merge and test: the trade of the sandbox. */
export function createSandboxWork(parts: SandboxParts): Work {
  return async (run, control) => {
    try {
      return verdictEnd(await test(parts, run, control));
    } catch (error) {
      if (error instanceof GitError) throw new WorkFailed('git', error.message, true);
      if (error instanceof RepositoryRefused) {
        throw new WorkFailed('repositorio', error.message, false);
      }
      throw error;
    }
  };
}

function verdictEnd({ isRight, log }: Verdict): WorkEnd {
  const payload = { exito: isRight, log };
  return { outcome: { name: 'resultado.integracion_finalizada', payload }, facts: null };
}

async function test(parts: SandboxParts, run: Run, control: WorkControl): Promise<Verdict> {
  const order = payloads['tarea.probar_integracion'].parse(run.payload);
  const request = pullRequestPlace(order.pullRequestUrl, parts.allowedRepositories);
  const target = order.ramaDestino ? branchRef(order.ramaDestino) : null;
  const name = `${run.task}-${run.attempt ?? run.id}`.replace(/[^\w-]/g, '-');
  const runs = join(parts.folder, 'runs');
  const folder = join(runs, name);
  removeTree(folder);
  // Others may pass through, but only who knows the name, and see nothing of the list.
  mkdirSync(runs, { recursive: true, mode: 0o711 });
  using log = new RunLog(join(parts.folder, 'logs', `${name}.log`));
  try {
    return await mergeAndTest(parts, run, control, { request, target, runs, folder, log });
  } finally {
    killRun(parts.folder, run.id);
    removeTree(folder);
  }
}

async function mergeAndTest(
  parts: SandboxParts,
  run: Run,
  control: WorkControl,
  place: {
    readonly request: PullRequestPlace;
    readonly target: string | null;
    readonly runs: string;
    readonly folder: string;
    readonly log: RunLog;
  },
): Promise<Verdict> {
  const { request, target, runs, folder, log } = place;
  const { signal } = control;
  control.say('merging the pull request');
  const merged = await mergedClone(parts.git, request, target, { parent: runs, folder, signal });
  if (!merged.ok) {
    log.write(`The pull request can't be merged into its target branch.\n\n${merged.log}\n`);
    return { isRight: false, log: log.excerpt };
  }
  await handOver(parts, folder, signal);
  const plan = parts.planOf(request.repository);
  const walled = walledRun(parts, run, control, { plan, log });
  const failed =
    (await prepare(parts, run, { plan, folder, walled, signal })) ??
    badEnd(plan.command, await walled('testing', plan.command, folder, plan));
  signal.throwIfAborted();
  if (failed !== null) log.write(`\n[${failed}]\n`);
  return { isRight: failed === null, log: log.excerpt };
}

type WalledRun = (
  doing: string,
  command: TestPlan['command'],
  folder: string,
  walls: Pick<IsolationOptions, 'hasNetwork' | 'readOnlyPaths'>,
) => Promise<Ended>;

/** Runs commands of one order, one after the other; all that they print goes into its log. */
function walledRun(
  parts: SandboxParts,
  run: Run,
  { signal, say, print }: WorkControl,
  { plan, log }: { readonly plan: TestPlan; readonly log: RunLog },
): WalledRun {
  const marks = marksOf(parts.folder, run.id);
  const warned = new Set<string>();
  return (doing, command, folder, { hasNetwork, readOnlyPaths }) => {
    const isolation = { ...parts.walls, limits: plan.limits, hasNetwork, readOnlyPaths };
    const write = (text: string): void => {
      log.write(text);
      print(text);
      say(`${doing}: ${log.lastLine}`);
    };
    const onWarning = (warning: string): void => {
      if (!warned.has(warning)) write(warning);
      warned.add(warning);
    };
    return runWrapped(
      { ...parts, command, isolation },
      { folder, marks, signal },
      { onOutput: write, onWarning },
    );
  };
}

/** @returns what failed, or null */
async function prepare(
  parts: SandboxParts,
  run: Run,
  {
    plan: { setUp: wanted, readOnlyPaths },
    folder: clone,
    walled,
    signal,
  }: {
    readonly plan: TestPlan;
    readonly folder: string;
    readonly walled: WalledRun;
    readonly signal: AbortSignal;
  },
): Promise<string | null> {
  if (wanted === null) return null;
  const place = { setUps: join(parts.folder, setUpsName), clone, runId: run.id };
  const ended = await setUp(wanted, place, async (command, folder, walls) => {
    if (folder !== clone) await handOver(parts, folder, signal);
    const readable = [...readOnlyPaths, ...walls.readOnlyPaths];
    return walled('setting up', command, folder, { ...walls, readOnlyPaths: readable });
  });
  return ended === null ? null : `set-up: ${wanted.command.join(' ')} ${describeEnd(ended)}`;
}

function badEnd(command: readonly string[], ended: Ended): string | null {
  if (ended.how === 'exited' && ended.code === 0) return null;
  return `${command.join(' ')} ${describeEnd(ended)}`;
}

/** The command runs as somebody else when the service is root, and the clone must be theirs. */
async function handOver(
  { tools, walls, clock, environment }: SandboxParts,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const { uid, gid } = walls.user;
  if (!tools.isRoot || walls.mode === 'plain' || uid === 0) return;
  const argv = ['chown', '-R', '--no-dereference', `${uid}:${gid}`, folder] as const;
  const ended = await runCommand({ argv, folder, environment }, { clock, signal });
  if (ended.how !== 'exited' || ended.code !== 0) {
    throw new WorkFailed('sandbox', `chown ${describeEnd(ended)}`, true);
  }
}

/** @throws WorkFailed where the walls themselves can't be put up */
export async function runWrapped(
  parts: Pick<SandboxParts, 'environment' | 'etc' | 'tools' | 'clock'> & {
    readonly command: TestPlan['command'];
    readonly isolation: IsolationOptions;
  },
  place: {
    readonly folder: string;
    readonly marks: Readonly<Record<string, string>>;
    readonly signal: AbortSignal;
  },
  { onOutput, onWarning }: Record<'onOutput' | 'onWarning', (text: string) => void>,
): Promise<Ended> {
  const { folder, marks, signal } = place;
  const { environment, etc, isolation, clock, command } = parts;
  const wrapping = wrapped(command, { folder, etc, environment }, isolation, parts.tools);
  if (!wrapping.ok) throw new WorkFailed('sin_aislamiento', wrapping.problem, true);
  for (const warning of wrapping.warnings) onWarning(`[sandbox] ${warning}\n`);
  let beginning = '';
  const ended = await runCommand(
    { argv: wrapping.argv, folder, environment: { ...wrapping.environment, ...marks } },
    {
      clock,
      signal,
      timeLimitMs: isolation.limits.timeMs,
      outputLimit: isolation.limits.outputBytes,
      onOutput(text) {
        if (beginning.length < 1_000) beginning += text;
        onOutput(text);
      },
    },
  );
  // One line, by a tool of the wrapping: the command itself never ran.
  const isWallsFault = /^(?:bwrap|setpriv|prlimit): [^\n]*\n?$/.test(beginning);
  if (ended.how === 'not_started') {
    throw new WorkFailed('sandbox', describeEnd(ended), true);
  }
  if (ended.how === 'exited' && ended.code !== 0 && isWallsFault) {
    throw new WorkFailed('sandbox', beginning.trim(), true);
  }
  return ended;
}
