import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../performer/executable.ts';
import { etcNames } from './etc.ts';

/**
 * - `bwrap`: no network, a read-only system, a `/tmp` of its own, limits. Without it nothing is run.
 * - `plain`: an ordinary process with limits, and otherwise all that the service may do. Every log
 *   says so in its first line.
 */
export type Isolation = 'bwrap' | 'plain';

export interface Limits {
  readonly timeMs: number;
  /** Of one process: what it may write to, which is what a runtime really uses. */
  readonly memoryBytes: number;
  /** Processes and threads together, of the user who runs the tests. */
  readonly processes: number;
  /** The largest file it may write, and the size of its `/tmp`. */
  readonly fileBytes: number;
  /** Of what it prints. */
  readonly outputBytes: number;
}

export const defaultLimits: Limits = {
  timeMs: 30 * 60_000,
  memoryBytes: 4 * 1024 ** 3,
  processes: 512,
  fileBytes: 1024 ** 3,
  outputBytes: 64 * 1024 ** 2,
};

export interface IsolationOptions {
  readonly mode: Isolation;
  readonly limits: Limits;
  /** Lets the command reach the network. Default no. */
  readonly hasNetwork: boolean;
  /** Further places that the command may read: a tool chain, a cache of packages. */
  readonly readOnlyPaths: readonly string[];
  /** As whom the command runs when the service runs as root. */
  readonly user: { readonly uid: number; readonly gid: number };
}

/** Tools that the wrapping needs; null where they are not there. */
export interface Tools {
  readonly bwrap: string | null;
  readonly prlimit: string | null;
  readonly setpriv: string | null;
  readonly isRoot: boolean;
}

export interface WalledPlace {
  readonly folder: string;
  /** Holds the few files of `/etc` that are ours: see etc.ts. */
  readonly etc: string;
  readonly environment: Readonly<Record<string, string>>;
}

export type Wrapped =
  | {
      readonly ok: true;
      readonly argv: readonly [string, ...string[]];
      readonly environment: Readonly<Record<string, string>>;
      /** What people must know who read the log. */
      readonly warnings: readonly string[];
    }
  | { readonly ok: false; readonly problem: string };

export function findTools(path: string, uid: number): Tools {
  const find = (name: string): string | null => findProgram(name, path);
  return {
    bwrap: find('bwrap'),
    prlimit: find('prlimit'),
    setpriv: find('setpriv'),
    isRoot: uid === 0,
  };
}

/**
 * The command with everything around it. `folder` is the only place that it can change; inside it is
 * `/work`. @param environment what the command sees, and no more
 */
export function wrapped(
  command: readonly string[],
  place: WalledPlace,
  options: IsolationOptions,
  tools: Tools,
): Wrapped {
  const warnings: string[] = [];
  const limiter = limiterOf(options.limits, tools, warnings);
  if (options.mode === 'plain') {
    warnings.push(
      'NOT ISOLATED: this run may read and change all that the service may, and reach the network. ' +
        'Install bubblewrap (Debian: apt-get install bubblewrap).',
    );
    const argv = nonEmpty([...limiter, ...command]);
    return { ok: true, argv, environment: place.environment, warnings };
  }
  if (tools.bwrap === null) {
    const problem = 'bubblewrap is not installed (Debian: apt-get install bubblewrap)';
    return { ok: false, problem };
  }
  const asUser = unprivileged(options, tools, warnings);
  if (asUser === null) {
    return { ok: false, problem: 'run as root, the sandbox needs setpriv (Debian: util-linux)' };
  }
  const walls = bwrapArgs(place, options);
  const argv = nonEmpty([...asUser, ...limiter, tools.bwrap, ...walls, '--', ...command]);
  // bwrap's own environment: it clears it for the command.
  return { ok: true, argv, environment: {}, warnings };
}

/**
 * Limits of the kernel on each process. Memory is `--data`, what can be written to, and not `--as`:
 * JavaScript and Go reserve tens of gigabytes of addresses and never use them.
 */
function limiterOf(limits: Limits, { prlimit }: Tools, warnings: string[]): string[] {
  if (prlimit === null) {
    warnings.push('NO LIMITS on memory and processes: prlimit is missing (Debian: util-linux).');
    return [];
  }
  return [
    prlimit,
    `--data=${limits.memoryBytes}`,
    `--nproc=${limits.processes}`,
    `--fsize=${limits.fileBytes}`,
    '--core=0',
    '--',
  ];
}

/** The kernel does not hold root to its number of processes, and root is more than a test needs. */
function unprivileged(
  { user }: IsolationOptions,
  { isRoot, setpriv }: Tools,
  warnings: string[],
): string[] | null {
  if (!isRoot) return [];
  if (user.uid === 0) {
    warnings.push('Runs as root within its walls: no limit on the number of processes.');
    return [];
  }
  if (setpriv === null) return null;
  return [
    setpriv,
    `--reuid=${user.uid}`,
    `--regid=${user.gid}`,
    ...['--clear-groups', '--no-new-privs', '--'],
  ];
}

function bwrapArgs(
  { folder, etc, environment }: WalledPlace,
  { limits, hasNetwork, readOnlyPaths }: IsolationOptions,
): string[] {
  const inner = { ...environment, HOME: '/tmp', TMPDIR: '/tmp' };
  return [
    ...['--unshare-all', '--unshare-user', '--disable-userns', '--die-with-parent'],
    ...['--new-session', '--clearenv', '--uid', '1000', '--gid', '1000', '--hostname', 'sandbox'],
    ...(hasNetwork ? ['--share-net'] : []),
    ...['--ro-bind', '/usr', '/usr'],
    ...rootFolders(),
    ...etcFiles(etc, hasNetwork),
    ...['--proc', '/proc', '--dev', '/dev'],
    ...['--size', String(limits.fileBytes), '--tmpfs', '/tmp'],
    ...readOnlyPaths.flatMap((path) => ['--ro-bind', path, path]),
    ...['--bind', folder, '/work', '--chdir', '/work'],
    ...Object.entries(inner).flatMap(([name, value]) => ['--setenv', name, value]),
  ];
}

/** `/bin` and its like are links into `/usr` on today's systems and folders on others. */
function rootFolders(): string[] {
  return ['/bin', '/sbin', '/lib', '/lib64', '/lib32'].flatMap((path) => {
    if (!existsSync(path)) return [];
    if (lstatSync(path).isSymbolicLink()) return ['--symlink', readlinkSync(path), path];
    return ['--ro-bind', path, path];
  });
}

/** What programs need to start, and nothing that tells of this machine's users or secrets. */
function etcFiles(etc: string, hasNetwork: boolean): string[] {
  const shared = ['alternatives', 'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'localtime', 'ssl'];
  const forNetwork = hasNetwork ? ['resolv.conf'] : [];
  return [
    ...[...shared, 'nsswitch.conf', ...forNetwork].flatMap((name) => [
      ...['--ro-bind-try', `/etc/${name}`, `/etc/${name}`],
    ]),
    ...etcNames.flatMap((name) => ['--ro-bind', join(etc, name), `/etc/${name}`]),
  ];
}

function nonEmpty(argv: readonly string[]): readonly [string, ...string[]] {
  const [program, ...args] = argv;
  if (program === undefined) throw new TypeError('the command to run is empty');
  return [program, ...args];
}
