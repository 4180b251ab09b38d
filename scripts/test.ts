/**
 * `npm test [-- filter...]`: runs every *.test.ts whose path contains one of the filters, or all.
 * Arguments that start with a dash go to Node's runner (`npm test -- core --test-name-pattern=x`).
 *
 * Stricter than the bare runner: no test at all is a failure, so is a skipped test in CI, and so is
 * a process that outlives the run.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { debianProgram } from '../packages/capataz/src/testing/debian-program.ts';
import { end, findBlockers, findLeftovers, type Leftover } from './leftovers.ts';
import { repositoryRoot } from './steps.ts';

const testTimeoutMs = 120_000;
/** What the applications' tests run beside Node: the sandbox tries its walls, a unit is checked, mails go over TLS. */
const programs = {
  '/usr/bin/bwrap': 'bubblewrap',
  '/usr/bin/systemd-analyze': 'systemd',
  '/usr/bin/openssl': 'openssl',
};
const concurrency = 2;

const args = process.argv.slice(2);
const flags = args.filter((arg) => arg.startsWith('-'));
const filters = args.filter((arg) => !arg.startsWith('-'));
const files = findTestFiles(filters);

if (files.length === 0) {
  console.error(
    filters.length === 0 ? 'no test files found' : `no test file matches: ${filters.join(' ')}`,
  );
  process.exit(1);
}

if (files.some((file) => !file.startsWith('packages/'))) installPrograms();
const problems = await runTests(files);
for (const problem of problems) console.error(`✖ ${problem}`);
process.exitCode = problems.length === 0 ? 0 : 1;

/** Where it can't be done the tests that need one fail, and say so. */
function installPrograms(): void {
  for (const [path, packageName] of Object.entries(programs)) {
    try {
      debianProgram(path, packageName);
    } catch (error) {
      console.error(error instanceof Error ? error.message : error);
    }
  }
}

function findTestFiles(filters: readonly string[]): string[] {
  return globSync('{packages,apps,test,examples}/**/*.test.ts', {
    cwd: repositoryRoot,
    exclude: (name) => name === 'node_modules' || name === 'dist',
  })
    .filter((path) => !/(^|\/)(node_modules|dist)\//.test(path))
    .filter((path) => filters.length === 0 || filters.some((filter) => path.includes(filter)))
    .sort();
}

/** Returns what is wrong with the run, in sentences; nothing if it passed. */
async function runTests(files: readonly string[]): Promise<string[]> {
  const marker = { name: 'CAPATAZ_TEST_RUN', value: randomUUID() };
  const directory = mkdtempSync(join(tmpdir(), 'capataz-test-'));
  const tapPath = join(directory, 'run.tap');
  try {
    const runner = startRunner(files, tapPath, { [marker.name]: marker.value });
    const entry = `${marker.name}=${marker.value}`;
    const leftovers: Leftover[] = [];
    const ended = new AbortController();
    const watch = findBlockers(entry, runner.pid ?? 0, ended.signal).then((blockers) => {
      leftovers.push(...blockers);
      end(blockers);
    });
    const exit = await waitForExit(runner);
    ended.abort();
    await watch;
    const late = await findLeftovers(entry);
    end(late);
    return [
      ...(exit === 0 ? [] : [`the test runner ended with ${exit}`]),
      ...problemsOfSummary(readFileSync(tapPath, 'utf8')),
      ...[...leftovers, ...late].map(
        ({ pid, command }) => `a process that a test started outlived the tests: ${pid} ${command}`,
      ),
    ];
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function startRunner(
  files: readonly string[],
  tapPath: string,
  environment: Readonly<Record<string, string>>,
): ChildProcess {
  const runner = spawn(
    process.execPath,
    [
      ...process.execArgv,
      `--require=${join(repositoryRoot, 'scripts', 'without-test-hooks.cjs')}`,
      '--test',
      `--test-concurrency=${concurrency}`,
      `--test-timeout=${testTimeoutMs}`,
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      // The same run once more in a form that is safe to read.
      '--test-reporter=tap',
      `--test-reporter-destination=${tapPath}`,
      ...flags,
      ...files,
    ],
    { cwd: repositoryRoot, stdio: 'inherit', env: { ...process.env, ...environment } },
  );
  // A terminal sends SIGINT to the whole group; other signals reach only this process.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => runner.kill('SIGTERM'));
  return runner;
}

function waitForExit(runner: ChildProcess): Promise<number | string> {
  return new Promise((resolve, reject) => {
    runner.on('error', reject);
    runner.on('exit', (code, signal) => resolve(code ?? signal ?? 'no exit code'));
  });
}

function problemsOfSummary(tap: string): string[] {
  const problems: string[] = [];
  const count = (name: string): number =>
    Number(tap.match(new RegExp(`^# ${name} (\\d+)$`, 'm'))?.[1] ?? 0);
  if (count('tests') === 0) problems.push('no test ran');
  const isCi = !['', '0', 'false'].includes(process.env.CI ?? '');
  if (isCi && count('skipped') + count('todo') > 0) {
    problems.push('skipped tests, which CI does not accept:');
    for (const line of tap.split('\n')) {
      const skipped = line.match(/^\s*(?:not )?ok \d+ - (.*# (?:SKIP|TODO).*)$/);
      if (skipped?.[1] !== undefined) problems.push(`  ${skipped[1]}`);
    }
  }
  return problems;
}
