import type { Clock } from 'capataz/server';
import { z } from 'zod';
import { branchUrl } from '../performer/repository-url.ts';

export interface PullRequest {
  readonly repository: string;
  readonly branch: string;
  /** Where it shall go; null for the repository's main branch. */
  readonly target: string | null;
  readonly title: string;
  readonly body: string;
}

/** Where a pushed branch becomes something that people can look at. */
export interface Forge {
  /** The name under which a round's work is pushed. */
  branchFor(repository: string, work: { readonly branch: string; readonly round: number }): string;
  /** Opens it, or finds the one that is open for this branch. @returns its address @throws ForgeError */
  open(request: PullRequest, signal: AbortSignal): Promise<string>;
}

/** `isRefused`: the forge has understood and will not have it. Else it could not be reached or used. */
export class ForgeError extends Error {
  override readonly name = 'ForgeError';
  readonly isRefused: boolean;

  constructor(message: string, isRefused: boolean, options?: ErrorOptions) {
    super(message, options);
    this.isRefused = isRefused;
  }
}

/**
 * No forge: the pushed branch is the pull request, and its address is `<repository>#<branch>`. Each round has
 * a branch of its own, so that an address goes on meaning what was handed in under it.
 */
export const branchForge: Forge = {
  branchFor: (_, { branch, round }) => `${branch}/${round}`,
  open: async ({ repository, branch }) => branchUrl(repository, branch),
};

export interface GitHubOptions {
  readonly token: string;
  readonly clock: Clock;
  /** Default https://github.com; for GitHub Enterprise its own address. */
  readonly webUrl?: string;
  /** Default https://api.github.com. */
  readonly apiUrl?: string;
}

const requestTimeoutMs = 30_000;
const maxTitleChars = 200;
/** GitHub takes 65,536. */
const maxBodyChars = 60_000;
const listed = z.array(z.object({ html_url: z.string() }));
const created = z.object({ html_url: z.string() });
const repositoryFacts = z.object({ default_branch: z.string() });

/**
 * Pull requests through GitHub's REST API, for repositories that lie there; for others it does as
 * `branchForge`. Tested against a stand-in, not run here against GitHub.
 */
export function createGitHubForge(options: GitHubOptions): Forge {
  const { webUrl = 'https://github.com' } = options;
  return {
    // One pull request for all rounds: its branch moves on.
    branchFor: (repository, work) =>
      repositoryAt(webUrl, repository) === null
        ? branchForge.branchFor(repository, work)
        : work.branch,
    async open(request, signal) {
      const place = repositoryAt(webUrl, request.repository);
      if (place === null) return branchForge.open(request, signal);
      const call = (method: string, path: string, body?: object): Promise<unknown> =>
        ask(options, { method, path: `/repos/${place.owner}/${place.name}${path}`, body, signal });
      const head = encodeURIComponent(`${place.owner}:${request.branch}`);
      // A turn that is begun again after a crash finds the one that it opened before.
      const [open] = listed.parse(await call('GET', `/pulls?state=open&head=${head}`));
      if (open !== undefined) return open.html_url;
      const base = request.target ?? repositoryFacts.parse(await call('GET', '')).default_branch;
      const answer = await call('POST', '/pulls', {
        title: request.title.slice(0, maxTitleChars),
        body: request.body.slice(0, maxBodyChars),
        head: request.branch,
        base,
      });
      return created.parse(answer).html_url;
    },
  };
}

function repositoryAt(webUrl: string, repository: string) {
  const rest = repository.startsWith(`${webUrl}/`)
    ? repository.slice(webUrl.length + 1)
    : repository.startsWith(`git@${new URL(webUrl).host}:`)
      ? repository.slice(repository.indexOf(':') + 1)
      : '';
  const match = /^([\w.-]+)\/([\w.-]+?)(?:\.git)?\/?$/.exec(rest);
  return match === null ? null : { owner: match[1] ?? '', name: match[2] ?? '' };
}

async function ask(
  { token, clock, apiUrl = 'https://api.github.com' }: GitHubOptions,
  request: { method: string; path: string; body: object | undefined; signal: AbortSignal },
): Promise<unknown> {
  const timeout = new AbortController();
  const cancel = clock.after(requestTimeoutMs, () => timeout.abort());
  const what = `${request.method} ${apiUrl}${request.path}`;
  try {
    const response = await fetch(`${apiUrl}${request.path}`, {
      method: request.method,
      headers: {
        accept: 'application/vnd.github+json',
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'user-agent': 'capataz-coding',
        'x-github-api-version': '2022-11-28',
      },
      signal: AbortSignal.any([request.signal, timeout.signal]),
      // A redirect to another host would take the token along.
      redirect: 'error',
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
    });
    const text = await response.text();
    if (response.ok) return JSON.parse(text);
    throw new ForgeError(
      `${what}: ${response.status} ${text.slice(0, 500)}`,
      response.status === 422,
    );
  } catch (error) {
    if (error instanceof ForgeError) throw error;
    throw new ForgeError(`${what}: ${error}`, false, { cause: error });
  } finally {
    cancel();
  }
}
