import type { Clock } from 'capataz/server';
import { describeEnd, runCommand } from '../performer/command.ts';
import type { Preset } from './presets.ts';

export interface AgentCheck {
  readonly agent: string;
  /** False where the program is not there or its help can't be shown. */
  readonly isInstalled: boolean;
  /** What the preset uses and the installed agent's help does not name. */
  readonly missing: readonly string[];
  readonly problem: string | null;
}

const helpTimeoutMs = 30_000;

/**
 * Compares what a preset uses with the installed agent's own help, because agents rename their flags
 * from one release to the next. It asks no model and needs no key.
 */
export async function checkAgent(
  { template, helps }: Preset,
  surroundings: {
    readonly clock: Clock;
    readonly environment: Readonly<Record<string, string>>;
    readonly folder: string;
  },
): Promise<AgentCheck> {
  const missing: string[] = [];
  for (const { args, words } of helps) {
    let help = '';
    const ended = await runCommand(
      {
        argv: [template.program, ...args],
        folder: surroundings.folder,
        environment: surroundings.environment,
      },
      {
        clock: surroundings.clock,
        timeLimitMs: helpTimeoutMs,
        onOutput: (text) => {
          help += text;
        },
      },
    );
    if (ended.how !== 'exited' || help === '') {
      const problem = `${[template.program, ...args].join(' ')} ${describeEnd(ended)}`;
      return { agent: template.name, isInstalled: false, missing: [], problem };
    }
    missing.push(...words.filter((word) => !hasWord(help, word)));
  }
  return { agent: template.name, isInstalled: true, missing, problem: null };
}

/** `--print` is not named by `--print-config`. */
function hasWord(help: string, word: string): boolean {
  const escaped = word.replace(/[-/\\^$*+?.()|[\]{}]/g, '\\$&');
  return new RegExp(`(?<![\\w-])${escaped}(?![\\w-])`).test(help);
}
