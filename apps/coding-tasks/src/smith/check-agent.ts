import type { Clock } from 'capataz/server';
import { describeEnd, runCommand } from '../performer/command.ts';
import { findProgram } from '../performer/executable.ts';
import { acpCommands, acpHelps } from './acp-agent.ts';
import { type Help, presets } from './presets.ts';

/** An agent that this application knows the flags of. */
export interface KnownAgent {
  readonly name: string;
  readonly program: string;
  readonly helps: readonly Help[];
}

export const knownAgents: readonly KnownAgent[] = [
  ...Object.entries(presets).map(([name, { template, helps }]) => ({
    ...{ name, program: template.program, helps },
  })),
  ...Object.entries(acpCommands).map(([name, [program]]) => ({
    ...{ name, program, helps: acpHelps[name] ?? [] },
  })),
];

/** `no_help`: it is there, and its help can't be shown. */
export type AgentStatus = 'ok' | 'not_installed' | 'flag_missing' | 'no_help';

export interface AgentCheck {
  readonly agent: string;
  readonly status: AgentStatus;
  /** What is used here and the installed agent's help does not name. */
  readonly missing: readonly string[];
  /** Why its help can't be shown. */
  readonly problem: string | null;
}

interface CheckPlace {
  readonly clock: Clock;
  readonly environment: Readonly<Record<string, string>>;
  readonly folder: string;
}

const helpTimeoutMs = 30_000;

/**
 * Compares the flags that are used here with the installed agent's own help, because agents rename
 * theirs from one release to the next. It asks no model and needs no key.
 */
export async function checkAgent(
  { name: agent, program, helps }: KnownAgent,
  place: CheckPlace,
): Promise<AgentCheck> {
  if (findProgram(program, place.environment.PATH ?? '') === null)
    return { agent, status: 'not_installed', missing: [], problem: null };
  const missing: string[] = [];
  for (const { args, words } of helps) {
    const help = await helpOf([program, ...args], place);
    if (!help.ok) return { agent, status: 'no_help', missing: [], problem: help.problem };
    missing.push(...words.filter((word) => !hasWord(help.text, word)));
  }
  const status = missing.length === 0 ? 'ok' : 'flag_missing';
  return { agent, status, missing, problem: null };
}

async function helpOf(
  argv: readonly [string, ...string[]],
  { clock, environment, folder }: CheckPlace,
): Promise<{ ok: true; text: string } | { ok: false; problem: string }> {
  let text = '';
  const ended = await runCommand(
    { argv, folder, environment },
    {
      clock,
      timeLimitMs: helpTimeoutMs,
      onOutput: (part) => {
        text += part;
      },
    },
  );
  if (ended.how === 'exited' && ended.code === 0 && text !== '') return { ok: true, text };
  const why = ended.how === 'exited' && ended.code === 0 ? 'printed nothing' : describeEnd(ended);
  return { ok: false, problem: `${argv.join(' ')} ${why}` };
}

/** `--print` is not named by `--print-config`. */
function hasWord(help: string, word: string): boolean {
  return new RegExp(`(?<![\\w-])${RegExp.escape(word)}(?![\\w-])`).test(help);
}
