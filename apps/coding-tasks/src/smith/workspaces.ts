import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Git, GitError } from '../performer/git.ts';
import { removeTree } from '../performer/remove-tree.ts';

/** More of a change than anybody reads. */
const maxDiffBytes = 4 * 1024 * 1024;

/** Where a turn of an agent happens. */
export interface Workspace {
  readonly folder: string;
  /** The branch that is checked out, and its own to write. */
  readonly branch: string;
  readonly repository: string;
}

export interface WorkspaceRequest {
  readonly repository: string;
  readonly branch: string;
  /** The commit that the turn starts from. */
  readonly start: string;
  readonly signal: AbortSignal;
}

export interface PushRequest extends Omit<WorkspaceRequest, 'start'> {
  /** Its name there. */
  readonly to: string;
}

/**
 * A worktree lives exactly as long as a turn of an agent, always at the same place for one branch
 * (agents file their sessions under the folder), and starts from a commit that was noted before: a
 * turn that is begun again after a crash does not meet what the first one left half done.
 */
export interface Workspaces {
  /** Removes what a killed service left behind. Call it once, before anything else. */
  sweep(): Promise<void>;
  /** Brings the copy of the repository up to date with a full ref, or HEAD. @returns its commit */
  fetch(repository: string, ref: string, signal: AbortSignal): Promise<string>;
  /** Makes a worktree, hands it over, and removes it whatever happens. */
  using<T>(request: WorkspaceRequest, work: (workspace: Workspace) => Promise<T>): Promise<T>;
  /** Commits what the agent has not committed. @returns the branch's last commit */
  seal(workspace: Workspace, message: string): Promise<string>;
  diff(workspace: Workspace, from: string): Promise<string>;
  /** Brings the branch to where the repository came from, whatever was there under that name. */
  push(request: PushRequest): Promise<void>;
}

export function createWorkspaces(root: string, git: Git): Workspaces {
  return new GitWorkspaces(root, git);
}

class GitWorkspaces implements Workspaces {
  readonly #copies: string;
  readonly #trees: string;
  readonly #git: Git;
  /** Git locks a copy while it fetches into it; a second fetch would fail instead of waiting. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(root: string, git: Git) {
    this.#copies = join(root, 'repositories');
    this.#trees = join(root, 'worktrees');
    this.#git = git;
  }

  async sweep(): Promise<void> {
    removeTree(this.#trees);
    mkdirSync(this.#trees, { recursive: true, mode: 0o700 });
    mkdirSync(this.#copies, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(this.#copies)) {
      const folder = join(this.#copies, name);
      // A clone that was cut off has its name only once it is whole.
      if (!name.endsWith('.git')) rmSync(folder, { recursive: true, force: true });
      else {
        // One that an agent has destroyed is made anew when it is wanted.
        await this.#git.ask(['worktree', 'prune', '--expire', 'now'], { folder });
        removeLocks(folder);
      }
    }
  }

  fetch(repository: string, ref: string, signal: AbortSignal): Promise<string> {
    return this.#inTurn(repository, async () => {
      const folder = await this.#copyOf(repository, signal);
      await this.#git.run(['fetch', '--no-tags', 'origin', '--', ref], { folder, signal });
      return this.#git.run(['rev-parse', 'FETCH_HEAD'], { folder, signal });
    });
  }

  async using<T>(
    { repository, branch, start, signal }: WorkspaceRequest,
    work: (workspace: Workspace) => Promise<T>,
  ): Promise<T> {
    const copy = await this.#inTurn(repository, () => this.#copyOf(repository, signal));
    const folder = join(this.#trees, nameOf({ repository, branch }));
    await this.#inTurn(repository, () => this.#remove(copy, folder));
    try {
      await this.#inTurn(repository, async () => {
        await this.#bring(copy, start, signal);
        await this.#git.run(['worktree', 'add', '--force', '-B', branch, folder, start], {
          folder: copy,
          signal,
        });
      });
      return await work({ folder, branch, repository });
    } finally {
      await this.#inTurn(repository, () => this.#remove(copy, folder));
    }
  }

  async seal(workspace: Workspace, message: string): Promise<string> {
    const { folder, branch } = workspace;
    this.#restore(workspace);
    // An agent may have left the branch, or be in the middle of a merge: what counts is what lies there.
    // A repository without a commit, say, can't be added; the rest of the change can.
    const added = await this.#git.ask(['add', '--all', '--ignore-errors'], { folder });
    const { code } = await this.#git.ask(['diff', '--cached', '--quiet'], { folder });
    if (code !== 0) {
      await this.#git.run(['commit', '--no-verify', '--no-gpg-sign', '-m', message], { folder });
    } else if (added.code !== 0) throw new GitError(`git add failed: ${added.problems}`);
    const commit = await this.#git.run(['rev-parse', 'HEAD'], { folder });
    await this.#git.run(['checkout', '-q', '-B', branch], { folder });
    return commit;
  }

  diff({ folder }: Workspace, from: string): Promise<string> {
    return this.#git.run(['diff', '--no-ext-diff', '--no-textconv', `${from}...HEAD`], {
      ...{ folder, cutAtBytes: maxDiffBytes },
    });
  }

  async push({ repository, branch, to, signal }: PushRequest): Promise<void> {
    const folder = await this.#copyOf(repository, signal);
    await this.#pushLargeFiles(folder, branch, signal);
    const refs = `refs/heads/${branch}:refs/heads/${to}`;
    await this.#git.run(['push', '--no-verify', '--force', 'origin', refs], { folder, signal });
  }

  /** Git LFS does so in a hook, and hooks do not run here. */
  async #pushLargeFiles(folder: string, branch: string, signal: AbortSignal): Promise<void> {
    const call = { folder, signal };
    const grep = ['grep', '-q', 'filter=lfs', branch, '--', ':(glob)**/.gitattributes'];
    for (const args of [grep, ['lfs', 'version']])
      if ((await this.#git.ask(args, call)).code !== 0) return;
    await this.#git.run(['lfs', 'push', 'origin', branch], call);
  }

  /** Agents work in it: it is configured anew each time, and made anew where they have destroyed it. */
  async #copyOf(repository: string, signal: AbortSignal): Promise<string> {
    const folder = join(this.#copies, `${shortHash(repository)}.git`);
    if (existsSync(folder)) {
      configure(folder, repository);
      const { code } = await this.#git.ask(['rev-parse', '--git-dir'], { folder, signal });
      if (code === 0) return folder;
      removeTree(folder);
    }
    const unfinished = `${folder}.unfinished`;
    const call = { folder: this.#copies, signal };
    rmSync(unfinished, { recursive: true, force: true });
    await this.#git.run(['init', '-q', '--bare', unfinished], call);
    await this.#git.run(['remote', 'add', 'origin', repository], { folder: unfinished, signal });
    renameSync(unfinished, folder);
    return folder;
  }

  /**
   * What git obeys may be written by an agent: commands in its configuration, and a worktree that
   * belongs to another repository. It is put back before git, which has credentials, is asked again.
   */
  #restore({ folder, branch, repository }: Workspace): void {
    const copy = join(this.#copies, `${shortHash(repository)}.git`);
    const own = join(copy, 'worktrees', nameOf({ repository, branch }));
    configure(copy, repository);
    // Of a git that was killed together with the agent.
    for (const lock of globSync('*.lock', { cwd: own })) rmSync(join(own, lock), { force: true });
    rmSync(join(copy, 'refs', 'heads', `${branch}.lock`), { force: true });
    writeFileSync(join(own, 'commondir'), '../..\n');
    rmSync(join(own, 'config.worktree'), { recursive: true, force: true });
    rmSync(join(folder, '.git'), { recursive: true, force: true });
    writeFileSync(join(folder, '.git'), `gitdir: ${own}\n`);
  }

  /** A commit that was noted long ago may be gone from the copy, where no branch holds it. */
  async #bring(copy: string, commit: string, signal: AbortSignal): Promise<void> {
    const call = { folder: copy, signal };
    const { code } = await this.#git.ask(['cat-file', '-e', `${commit}^{commit}`], call);
    if (code !== 0) await this.#git.run(['fetch', '--no-tags', 'origin', '--', commit], call);
  }

  async #remove(copy: string, folder: string): Promise<void> {
    removeTree(folder);
    await this.#git.run(['worktree', 'prune', '--expire', 'now'], { folder: copy });
  }

  async #inTurn<T>(repository: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(repository) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#turns.set(
      repository,
      mine.catch(() => undefined),
    );
    return mine;
  }
}

/** Git names its own folder of a worktree after the worktree. */
function nameOf({ repository, branch }: Pick<Workspace, 'repository' | 'branch'>): string {
  return shortHash(`${repository}#${branch}`);
}

/** The whole configuration of a copy, with nothing in it that anybody has added. */
function configure(copy: string, repository: string): void {
  const url = repository.replaceAll(/["\\]/g, '\\$&');
  const path = join(copy, 'config');
  rmSync(path, { recursive: true, force: true });
  writeFileSync(
    path,
    `[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n[remote "origin"]\n\turl = "${url}"\n`,
  );
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** A git that was killed leaves its locks, and no other git is at work here yet. */
function removeLocks(copy: string): void {
  for (const path of globSync('{*.lock,refs/**/*.lock,worktrees/*/*.lock}', { cwd: copy })) {
    rmSync(join(copy, path), { force: true });
  }
}
