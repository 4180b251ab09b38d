import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from 'capataz/server';
import { payloads } from '../contract/payloads.ts';
import { describeEnd, type Ended, runCommand } from '../performer/command.ts';
import { type Git, GitError } from '../performer/git.ts';
import type { Run } from '../performer/ledger.ts';
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

export interface SandboxParts {
  readonly git: Git;
  readonly clock: Clock;
  readonly folder: string;
  /** What is run in the merged clone; it is right if it ends with 0. */
  readonly command: readonly [string, ...string[]];
  /** Written by `writeEtc`. */
  readonly etc: string;
  /** What the command sees. */
  readonly environment: Readonly<Record<string, string>>;
  readonly isolation: IsolationOptions;
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
  rmSync(folder, { recursive: true, force: true });
  // Others may pass through, but only who knows the name, and see nothing of the list.
  mkdirSync(runs, { recursive: true, mode: 0o711 });
  using log = new RunLog(join(parts.folder, 'logs', `${name}.log`));
  try {
    return await mergeAndTest(parts, run, control, { request, target, runs, folder, log });
  } finally {
    killRun(parts.folder, run.id);
    rmSync(folder, { recursive: true, force: true });
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
  const marks = marksOf(parts.folder, run.id);
  const ended = await runWrapped(parts, { folder, marks, signal }, (text) => {
    log.write(text);
    control.say(`testing: ${log.lastLine}`);
  });
  signal.throwIfAborted();
  const isRight = ended.how === 'exited' && ended.code === 0;
  if (!isRight) log.write(`\n[${parts.command.join(' ')} ${describeEnd(ended)}]\n`);
  return { isRight, log: log.excerpt };
}

/** The command runs as somebody else when the service is root, and the clone must be theirs. */
async function handOver(
  { tools, isolation, clock, environment }: SandboxParts,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const { uid, gid } = isolation.user;
  if (!tools.isRoot || isolation.mode === 'plain' || uid === 0) return;
  const argv = ['chown', '-R', '--no-dereference', `${uid}:${gid}`, folder] as const;
  const ended = await runCommand({ argv, folder, environment }, { clock, signal });
  if (ended.how !== 'exited' || ended.code !== 0) {
    throw new WorkFailed('sandbox', `chown ${describeEnd(ended)}`, true);
  }
}

/** @throws WorkFailed where the walls themselves can't be put up */
export async function runWrapped(
  parts: Pick<SandboxParts, 'command' | 'environment' | 'etc' | 'isolation' | 'tools' | 'clock'>,
  place: {
    readonly folder: string;
    readonly marks: Readonly<Record<string, string>>;
    readonly signal: AbortSignal;
  },
  onOutput: (text: string) => void,
): Promise<Ended> {
  const { folder, marks, signal } = place;
  const { environment, etc, isolation, clock, command } = parts;
  const wrapping = wrapped(command, { folder, etc, environment }, isolation, parts.tools);
  if (!wrapping.ok) throw new WorkFailed('sin_aislamiento', wrapping.problem, true);
  for (const warning of wrapping.warnings) onOutput(`[sandbox] ${warning}\n`);
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
