/** Why a repository or a branch of a pull request can't be used: it never will be, however often it is tried. */
export class RepositoryRefused extends Error {
  override readonly name = 'RepositoryRefused';
}

/**
 * A repository as users may name it: an absolute path, or `https`, `http`, `ssh`, `file`, or
 * `git@host:path`. Git knows further forms, and some run commands (`ext::sh -c …`) or are taken for
 * options (`--upload-pack=…`). `allowed` are beginnings, in
 * whole path segments, of which one must fit; without any, all do.
 * @throws RepositoryRefused
 */
export function checkedRepository(text: string, allowed: readonly string[] = []): string {
  if (hasPassword(text)) throw new RepositoryRefused(passwordRefusal);
  const isKnownForm =
    !/[\0\n\r]/.test(text) &&
    (/^(?:https?|ssh|file):\/\/[^\s-][^\s]*$/.test(text) ||
      /^\w[\w.]*@\w[\w.-]*:[^\s-][^\s]*$/.test(text) ||
      text.startsWith('/'));
  if (!isKnownForm) {
    throw new RepositoryRefused(
      `repository ${JSON.stringify(text)}: an absolute path or an https, ssh or file address is wanted`,
    );
  }
  if (text.includes('#')) {
    throw new RepositoryRefused(`repository ${JSON.stringify(text)}: '#' parts it from a branch`);
  }
  if (/(?:^|\/)\.\.(?:\/|$)/.test(text)) {
    throw new RepositoryRefused(`repository ${JSON.stringify(text)}: '..' is not followed`);
  }
  if (allowed.length > 0 && !allowed.some((start) => isWithin(text, start))) {
    throw new RepositoryRefused(
      `repository ${JSON.stringify(text)} is not among the allowed ones: ${allowed.join(', ')}`,
    );
  }
  return text;
}

export const passwordRefusal =
  'the repository’s address holds a user name or password, which every reader of the task and the agent would see: give git a credential where the services run';

/** `https://token@host/…` too; `ssh://git@host/…` holds none. Also in an address that is no repository. */
export function hasPassword(address: string): boolean {
  return /^https?:\/\/[^/?#]*@/i.test(address) || /^\w+:\/\/[^/?#@]*:[^/?#]*@/.test(address);
}

/** Whole path segments only: `…/acme` does not let `…/acme-evil` in. */
export function isWithin(repository: string, start: string): boolean {
  const bare = repository.replace(/\.git$/, '');
  const wanted = start.replace(/\/$/, '').replace(/\.git$/, '');
  return bare === wanted || bare.startsWith(`${wanted}/`);
}

/** What a pull request's address leads to: a repository and a ref in it that can be fetched. */
export interface PullRequestPlace {
  readonly repository: string;
  readonly ref: string;
}

/**
 * `<repository>#<branch>` where there is no forge, and `https://…/owner/name/pull/17` (also
 * `/-/merge_requests/17`) where there is one. @throws RepositoryRefused
 */
export function pullRequestPlace(url: string, allowed: readonly string[] = []): PullRequestPlace {
  const forge = /^(https?:\/\/[^\s#]+?)\/(pull|-\/merge_requests)\/(\d+)\/?$/.exec(url);
  if (forge !== null) {
    const [, repository = '', kind, number] = forge;
    const folder = kind === 'pull' ? 'pull' : 'merge-requests';
    return {
      repository: checkedRepository(`${repository}.git`, allowed),
      ref: `refs/${folder}/${number}/head`,
    };
  }
  const at = url.lastIndexOf('#');
  if (at <= 0) {
    throw new RepositoryRefused(
      `pull request ${JSON.stringify(url)}: <repository>#<branch> or the address of a pull request is wanted`,
    );
  }
  const repository = checkedRepository(url.slice(0, at), allowed);
  return { repository, ref: branchRef(url.slice(at + 1)) };
}

/** The full name of a branch, which git can take for nothing else. @throws RepositoryRefused */
export function branchRef(branch: string): string {
  if (!isBranchName(branch)) {
    throw new RepositoryRefused(`${JSON.stringify(branch)} can't be the name of a branch`);
  }
  return `refs/heads/${branch}`;
}

/** As `git check-ref-format` has it. */
function isBranchName(branch: string): boolean {
  const hasBadPart = branch
    .split('/')
    .some((part) => part === '' || part.startsWith('.') || /\.(?:lock)?$/.test(part));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
  const hasBadCharacter = /[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{/.test(branch);
  return !hasBadPart && !hasBadCharacter && !branch.startsWith('-') && branch !== '@';
}

export function branchUrl(repository: string, branch: string): string {
  return `${repository}#${branch}`;
}
