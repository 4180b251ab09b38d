import { CapatazError, type ErrorCode } from '../protocol/errors.ts';
import { isJsonObject, type JsonValue } from '../std/json.ts';

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
  INVALID_WORKER_STATE_TRANSITION: '`capataz workers list` shows the status of each worker.',
  SIGNAL_REFUSED: '`capataz why <job>` tells what it waits for.',
  DECISION_REFUSED: '`capataz approvals show <job>` tells what is asked now.',
  NOT_QUARANTINED: '`capataz jobs show <id>` tells its status.',
  CONFIG_INVALID: '`capataz config` shows every setting and where it comes from.',
  BLUEPRINT_CHANGED: 'Raise the version of the blueprint, so that running jobs keep theirs.',
  STORE_IN_USE: 'Stop that process, or use another --data-dir.',
  STORE_NEWER: 'Use the newer version of Capataz that wrote it.',
  NOT_READY: 'Try again in a moment.',
  INTERNAL: 'This is a bug: the log of the server has the stack. Please report it.',
};

/** `error CODE: sentence`, and what to do. */
export function errorText(error: unknown, name = 'capataz'): string {
  if (error instanceof UsageError) return `error USAGE: ${error.message}\n`;
  if (!(error instanceof CapatazError)) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return `error INTERNAL: ${text}\n  This is a bug. Please report it with the lines above.\n`;
  }
  const lines = messageLines(error);
  const message = lines.length === 1 ? ` ${lines[0]}` : `\n  ${lines.join('\n  ')}`;
  const next = nextStep(error)?.replaceAll('`capataz ', `\`${name} `) ?? null;
  return `error ${error.code}:${message}\n${next === null ? '' : `  ${next}\n`}`;
}

/** An error may know better what to do than its code. */
function nextStep({ code, details }: CapatazError): string | null {
  if (typeof details?.hint === 'string') return details.hint;
  if (details?.reason === 'nothing_to_decide')
    return '`capataz approvals list` shows what waits for a person.';
  // What is wrong with a module stands in no setting.
  if (code === 'CONFIG_INVALID' && details?.module !== undefined) return null;
  return nextSteps[code] ?? null;
}

/** The server's sentence; what is wrong in a request on lines of its own, each with its path. */
function messageLines({ code, message, details }: CapatazError): string[] {
  const listed = details?.problems;
  const isRequest = code === 'VALIDATION_FAILED' || code === 'INPUT_INVALID';
  if (!isRequest || !Array.isArray(listed)) return message.split('\n');
  const problems = listed.map(problemOf);
  // The sentence goes on with the problems.
  const end = message.indexOf(problems[0]?.sentence ?? message);
  const head = (end === -1 ? message : message.slice(0, end)).replace(/[:;\s]+$/, '');
  return [...(head === '' ? [] : [head]), ...problems.map(({ line }) => line)];
}

/** @returns a problem as the sentence has it, and as a line of its own. */
function problemOf(problem: JsonValue): { readonly sentence: string; readonly line: string } {
  if (!isJsonObject(problem)) return { sentence: String(problem), line: String(problem) };
  const { path, message } = problem;
  if (path === '') return { sentence: String(message), line: String(message) };
  return { sentence: `${path} ${message}`, line: `${path}: ${message}` };
}
