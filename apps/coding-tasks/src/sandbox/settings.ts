import { CapatazError } from 'capataz';
import type { Setting, SettingDeclarations, SettingValues } from 'capataz/server';
import { listOf, wordsOf } from '../words.ts';
import type { TestSettings } from './service.ts';

const mebibyte = 1024 ** 2;

/** How changes are tested: for all repositories, or in `[[repositories]]` for some. */
const ofTests = {
  setupCommand: {
    type: 'string',
    default: null,
    meaning:
      'Program and arguments that bring what the tests need (`npm ci`), with blanks between and quotes around what has some. Runs behind the same walls in a folder with `setup_files` alone; what it makes there is put into the clone, and kept for 30 days for changes that leave those files alone. Default: nothing is brought.',
  },
  setupFiles: {
    type: 'string',
    default: 'package.json,package-lock.json',
    meaning:
      'The files of the repository that the set-up sees, lock file and manifest, with commas between. Those that are not there are left out.',
  },
  setupNetwork: {
    type: 'boolean',
    default: true,
    meaning: 'Whether the set-up reaches the network. It runs what those files ask for.',
  },
  testCommand: {
    type: 'string',
    default: 'npm test',
    meaning:
      'Program and arguments of the integration tests, with blanks between and quotes around what has some; right if it ends with 0. Never read from the repository, where the agent could change it.',
  },
  testTimeout: {
    type: 'duration',
    default: '30m',
    range: [1, 7 * 86_400_000],
    meaning: 'Longest run of the set-up, and of the tests; then it is ended and has failed.',
  },
  testNetwork: {
    type: 'boolean',
    default: false,
    meaning:
      'Whether the tests reach the network; what an agent has written then can talk to anybody.',
  },
  testReadOnlyPaths: {
    type: 'string',
    default: null,
    meaning:
      'Absolute paths of the machine that set-up and tests may read (a tool chain, a cache of packages), with commas between. Default: /usr and its like alone.',
  },
  testMemoryMib: {
    type: 'integer',
    default: 4_096,
    range: [16, 16_777_216],
    meaning: 'Memory of one process of the tests, in MiB; a process gets no more.',
  },
  testProcesses: {
    type: 'integer',
    default: 512,
    range: [1, 1_000_000],
    meaning:
      'Processes and threads of the user who runs the tests, all together; no further one starts.',
  },
  testFileMib: {
    type: 'integer',
    default: 1_024,
    range: [1, 16_777_216],
    meaning: 'Largest file that the tests may write, and size of their /tmp, in MiB.',
  },
  testOutputMib: {
    type: 'integer',
    default: 64,
    range: [1, 65_536],
    meaning: 'What the tests may print, in MiB; beyond it they are ended and have failed.',
  },
} as const satisfies SettingDeclarations;

type OverrideOf<S extends Setting> = Omit<S, 'default'> & { readonly default: null };
type Overrides = { readonly [K in keyof typeof ofTests]: OverrideOf<(typeof ofTests)[K]> };

/** The same settings, each left as it is where it is not given. */
const overrides = Object.fromEntries(
  Object.entries(ofTests).map(([name, setting]) => [name, { ...setting, default: null }]),
) as unknown as Overrides;

export const sandboxSettings = {
  ...ofTests,
  isolation: {
    type: 'choice',
    choices: ['auto', 'bwrap', 'plain'],
    default: 'auto',
    meaning:
      'Walls around set-up and tests: `auto` is `bwrap` where bubblewrap works on this machine, and else `plain` with a loud warning; `bwrap` does not start without; `plain` has none: what an agent wrote may do all that this service may.',
  },
  testsAtOnce: {
    type: 'integer',
    default: 1,
    range: [1, 1_000],
    meaning: 'Runs of tests at the same time; further orders wait.',
  },
  repositories: {
    type: 'tables',
    default: null,
    meaning:
      'Repositories that are tested otherwise: `repository`, its address or the beginning of several in whole path segments, and any of the settings of set-up and tests.',
    fields: {
      repository: { type: 'string', default: null, meaning: 'Address, or beginning of addresses.' },
      ...overrides,
    },
  },
} as const satisfies SettingDeclarations;

type SandboxValues = SettingValues<typeof sandboxSettings>;
type TestValues = Pick<SandboxValues, keyof typeof ofTests>;
type Repository = SandboxValues['repositories'][number];

/** @throws CapatazError CONFIG_INVALID with everything that is wrong */
export function testSettings(values: TestValues & Pick<SandboxValues, 'repositories'>): {
  readonly tests: TestSettings;
  readonly repositories: readonly (TestSettings & { readonly repository: string })[];
} {
  const problems: string[] = [];
  const own = (values: TestValues, place: string) =>
    settingsOf(values, (problem) => problems.push(`${place}${problem}`));
  const tests = own(values, '');
  const repositories = values.repositories.map((entry, index) => {
    const place = `[[repositories]] ${index + 1} `;
    if (entry.repository === null) problems.push(`${place}repository: is missing`);
    return { repository: entry.repository ?? '', ...own(over(values, entry), place) };
  });
  const names = repositories.map(({ repository }) => repository);
  for (const name of new Set(names.filter((one, at) => names.indexOf(one) !== at)))
    problems.push(`[[repositories]] repository: "${name}" is there twice`);
  if (problems.length > 0)
    throw new CapatazError('CONFIG_INVALID', problems.join('\n'), { problems });
  return { tests, repositories };
}

function over(values: TestValues, { repository: _, ...entry }: Repository): TestValues {
  const given = Object.entries(entry).filter(([, value]) => value !== null);
  return { ...values, ...Object.fromEntries(given) };
}

function settingsOf(values: TestValues, report: (problem: string) => void): TestSettings {
  const command = commandOf(values.testCommand) ?? ['false'];
  if (commandOf(values.testCommand) === null) report('test_command: is empty');
  const readOnlyPaths = listOf(values.testReadOnlyPaths ?? '');
  for (const path of readOnlyPaths)
    if (!path.startsWith('/')) report(`test_read_only_paths: "${path}" is no absolute path`);
  const files = listOf(values.setupFiles);
  for (const file of files)
    if (file.startsWith('/') || file.split('/').includes('..'))
      report(`setup_files: "${file}" does not lie in the repository`);
  const setup = values.setupCommand === null ? null : commandOf(values.setupCommand);
  return {
    command,
    setUp: setup === null ? null : { command: setup, files, hasNetwork: values.setupNetwork },
    hasNetwork: values.testNetwork,
    readOnlyPaths,
    limits: {
      timeMs: values.testTimeout,
      memoryBytes: values.testMemoryMib * mebibyte,
      processes: values.testProcesses,
      fileBytes: values.testFileMib * mebibyte,
      outputBytes: values.testOutputMib * mebibyte,
    },
  };
}

function commandOf(text: string): readonly [string, ...string[]] | null {
  const [program, ...args] = wordsOf(text);
  return program === undefined ? null : [program, ...args];
}
