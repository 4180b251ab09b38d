import { type Git, GitError } from '../performer/git.ts';
import type { PullRequestPlace } from '../performer/repository-url.ts';

export type Merged =
  | { readonly ok: true; readonly commit: string }
  /** The two can't be merged: the branch's fault, and what git said. */
  | { readonly ok: false; readonly log: string };

const maxConflictChars = 20_000;
/** What git ends with when it gives up. */
const fatal = 128;

/**
 * The pull request as it would be after its merge: a clone of the target branch with the request
 * merged into it. @param target full ref, or null for the remote's HEAD @throws GitError
 */
export async function mergedClone(
  git: Git,
  request: PullRequestPlace,
  target: string | null,
  place: { readonly parent: string; readonly folder: string; readonly signal: AbortSignal },
): Promise<Merged> {
  const { folder, signal, parent } = place;
  const call = { folder, signal };
  // Copied, not linked: the clone changes its owner, and its origin must not do so with it.
  await git.run(['init', '-q', folder], { folder: parent, signal });
  const { repository, ref } = request;
  // Git LFS asks there for the files themselves.
  await git.run(['remote', 'add', 'origin', repository], call);
  await git.run(['fetch', '-q', '--no-tags', 'origin', '--', target ?? 'HEAD'], call);
  await git.run(['checkout', '-q', '-B', 'integration', 'FETCH_HEAD'], call);
  await git.run(['fetch', '-q', '--no-tags', 'origin', '--', ref], call);
  const merge = ['merge', '--no-ff', '--no-verify', '--no-gpg-sign'];
  const { code, output, problems } = await git.ask(
    [...merge, '-m', `Merge ${ref} for its test`, 'FETCH_HEAD'],
    call,
  );
  if (code === 0) return { ok: true, commit: await git.run(['rev-parse', 'HEAD'], call) };
  // Else git itself has failed, for want of room, say; which is not the branch's fault.
  const isBranchesFault = code !== fatal || problems.includes('unrelated histories');
  if (!isBranchesFault) throw new GitError(`git merge failed (${code}): ${problems || output}`);
  const conflicts = await git.run(['diff', '--no-ext-diff', '--no-textconv'], call);
  const words = [output, problems, conflicts.slice(0, maxConflictChars)];
  return { ok: false, log: words.filter((text) => text !== '').join('\n') };
}
