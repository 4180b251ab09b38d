import { isWithin } from '../performer/repository-url.ts';
import type { Limits } from './isolation.ts';

/** How the changes to a repository are tested. None of it is read from the repository. */
export interface TestPlan {
  /** Program and arguments; the tests are right if it ends with 0. */
  readonly command: readonly [string, ...string[]];
  readonly setUp: SetUp | null;
  readonly limits: Limits;
  /** Whether the tests reach the network. */
  readonly hasNetwork: boolean;
  /** Further places that set-up and tests may read: a tool chain, a cache of packages. */
  readonly readOnlyPaths: readonly string[];
}

/** What the tests need and the repository does not have: installed packages, say. */
export interface SetUp {
  readonly command: readonly [string, ...string[]];
  /** All that it sees of the clone, and what its outcome is kept under: lock file, manifest. */
  readonly files: readonly string[];
  readonly hasNetwork: boolean;
}

/** For repositories that begin with this, in whole path segments. */
export interface RepositoryPlan {
  readonly repository: string;
  readonly plan: TestPlan;
}

/** The plan of the longest beginning that fits. */
export function planFor(
  repository: string,
  plans: readonly RepositoryPlan[],
  otherwise: TestPlan,
): TestPlan {
  const [best] = plans
    .filter((one) => isWithin(repository, one.repository))
    .sort((a, b) => b.repository.length - a.repository.length);
  return best?.plan ?? otherwise;
}
