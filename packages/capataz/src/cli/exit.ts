import { CapatazError, type ErrorCode } from '../protocol/errors.ts';

/** What a command ends with; `--help` and the reference tell the same. */
export const exitCodes = {
  ok: 0,
  /** What was asked about is not well: the job failed, a check found something. */
  failed: 1,
  /** Wrong words: unknown command or flag, an invalid value, an invalid configuration. */
  usage: 2,
  unreachable: 3,
  /** Refused, with a code. */
  refused: 4,
} as const;

export const exitCodeHelp = `
Exit codes:
  0  done
  1  what was asked about is not well (the job failed, a check found something)
  2  wrong usage, or an invalid configuration
  3  the server could not be reached
  4  refused, with a code on standard error`;

/** A wrong word on the command line. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return exitCodes.usage;
  if (!(error instanceof CapatazError)) return exitCodes.refused;
  switch (error.code) {
    case 'UNREACHABLE':
      return exitCodes.unreachable;
    case 'CONFIG_INVALID':
      return exitCodes.usage;
    default:
      return exitCodes.refused;
  }
}

const nextSteps: Readonly<Partial<Record<ErrorCode, string>>> = {
  UNREACHABLE: 'Start a server with `capataz serve`, or name one with --url.',
  UNAUTHORIZED: "Give the client's token with --token or CAPATAZ_TOKEN.",
  FORBIDDEN: 'Use a token that is for this.',
  JOB_NOT_FOUND: '`capataz jobs list` shows the jobs of this client.',
  BLUEPRINT_NOT_FOUND: 'See that the module lies in the folder of --blueprints.',
  WORKER_NOT_FOUND: '`capataz workers list` shows who is there.',
  NOT_QUARANTINED: '`capataz jobs show <id>` tells its status.',
  CONFIG_INVALID: '`capataz config` shows every setting and where it comes from.',
  BLUEPRINT_CHANGED: 'Raise the version of the blueprint, so that running jobs keep theirs.',
  STORE_IN_USE: 'Stop that process, or use another --data-dir.',
  STORE_NEWER: 'Use the newer version of Capataz that wrote it.',
  NOT_READY: 'Try again in a moment.',
  INTERNAL: 'This is a bug: the log of the server has the stack. Please report it.',
};

/** `error CODE: sentence`, and what to do. */
export function errorText(error: unknown): string {
  if (error instanceof UsageError) return `error USAGE: ${error.message}\n`;
  if (!(error instanceof CapatazError)) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return `error INTERNAL: ${text}\n  This is a bug. Please report it with the lines above.\n`;
  }
  const lines = error.message.split('\n');
  const message = lines.length === 1 ? ` ${lines[0]}` : `\n  ${lines.join('\n  ')}`;
  const problems = problemLines(error);
  const next = nextSteps[error.code];
  return `error ${error.code}:${message}\n${problems}${next === undefined ? '' : `  ${next}\n`}`;
}

/** The server's list of what is wrong in a request, each with its path. */
function problemLines({ code, details }: CapatazError): string {
  if (code !== 'VALIDATION_FAILED' && code !== 'INPUT_INVALID') return '';
  const problems = details?.problems;
  return Array.isArray(problems)
    ? problems.map((problem) => `  ${JSON.stringify(problem)}\n`).join('')
    : '';
}
