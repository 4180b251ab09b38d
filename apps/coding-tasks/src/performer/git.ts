import type { Clock } from 'capataz/server';
import { describeEnd, runCommand } from './command.ts';

export interface GitOptions {
  readonly clock: Clock;
  /** What git and its helpers see: PATH, HOME, and where a forge wants it, a credential. */
  readonly environment: Readonly<Record<string, string>>;
  /** Of the commits that are made here. */
  readonly author: { readonly name: string; readonly email: string };
  /** For one command. Default 10 min: a first clone may be large. */
  readonly timeLimitMs?: number;
}

export interface GitCall {
  readonly folder: string;
  /** The output is cut off here, and git ended. Default: 64 MiB, and more of it is an error. */
  readonly cutAtBytes?: number;
  readonly signal?: AbortSignal;
}

export interface GitAnswer {
  readonly code: number;
  readonly output: string;
  readonly problems: string;
}

export class GitError extends Error {
  override readonly name = 'GitError';
}

/** Git as a command: what it does is what people see when they type it. */
export interface Git {
  /** @returns its output without the last line break. @throws GitError */
  run(args: readonly string[], call: GitCall): Promise<string>;
  /** For commands whose code is an answer (`merge`, `diff --quiet`). @throws GitError if it did not end. */
  ask(args: readonly string[], call: GitCall): Promise<GitAnswer>;
}

const maxOutputBytes = 64 * 1024 * 1024;
const defaultTimeLimitMs = 600_000;

/** Repositories come from users: no hooks, no helpers that run commands (`ext::`), no questions. */
const guards = ['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false'];
const guardedEnvironment = {
  GIT_TERMINAL_PROMPT: '0',
  GIT_ALLOW_PROTOCOL: 'file:https:http:ssh',
  GIT_SSH_COMMAND: 'ssh -oBatchMode=yes',
  // Read by the tests of merges and by `describe`; a translated git would change them.
  LC_ALL: 'C.UTF-8',
};

export function createGit(options: GitOptions): Git {
  const { name, email } = options.author;
  const environment = {
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
    ...guardedEnvironment,
    ...options.environment,
  };
  async function ask(args: readonly string[], call: GitCall): Promise<GitAnswer> {
    const text = { out: '', error: '' };
    const ended = await runCommand(
      { argv: ['git', ...guards, ...args], folder: call.folder, environment },
      {
        clock: options.clock,
        timeLimitMs: options.timeLimitMs ?? defaultTimeLimitMs,
        outputLimit: call.cutAtBytes ?? maxOutputBytes,
        ...(call.signal === undefined ? {} : { signal: call.signal }),
        onOutput: (part, stream) => {
          text[stream] += part;
        },
      },
    );
    const isCut = ended.how === 'too_much_output' && call.cutAtBytes !== undefined;
    if (isCut) return { code: 0, output: text.out, problems: text.error };
    if (ended.how !== 'exited') throw new GitError(`git ${args[0]} ${describeEnd(ended)}`);
    return { code: ended.code, output: text.out.trimEnd(), problems: text.error.trimEnd() };
  }
  return {
    ask,
    async run(args, call) {
      const { code, output, problems } = await ask(args, call);
      if (code === 0) return output;
      throw new GitError(`git ${args.join(' ')} failed (${code}): ${problems || output}`);
    },
  };
}
