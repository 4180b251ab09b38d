/** Time, chance and the environment each come in through one door, so that a test can stand there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allSources, isTest, packageRoot, packageSources, type SourceFile } from './sources.ts';
import { assertNone, type Ban, findBanned, type Violation } from './violations.ts';

interface Rule {
  readonly name: string;
  readonly appliesTo: (source: SourceFile) => boolean;
  readonly bans: readonly Ban[];
  readonly importBans: readonly Ban[];
}

interface Exception {
  readonly rule: string;
  readonly path: string;
  readonly reason: string;
}

/** The only places where a rule does not hold. */
const exceptions: readonly Exception[] = [
  {
    rule: 'clock',
    path: `${packageSources}/std/clock.ts`,
    reason: 'the one real clock, behind the interface that everything else takes',
  },
  {
    rule: 'clock',
    path: 'test/chaos/run.ts',
    reason: 'kills real processes for a length of real time, which is what it is about',
  },
  {
    rule: 'clock',
    path: 'test/chaos/load.ts',
    reason: 'gives real processes work at a pace of real time',
  },
  {
    rule: 'clock',
    path: 'test/chaos/worker.ts',
    reason: 'its tasks take real time, so that a kill can hit them',
  },
  {
    rule: 'random',
    path: `${packageSources}/std/random.ts`,
    reason: 'the one real source of chance, behind the interface that everything else takes',
  },
  {
    rule: 'environment',
    path: `${packageSources}/config/environment.ts`,
    reason: 'the one reader of the environment; everything else gets values',
  },
  {
    rule: 'environment',
    path: `${packageRoot}/bin/capataz.mjs`,
    reason: 'hands the environment on unread when it replaces its own process',
  },
  {
    rule: 'environment',
    path: 'apps/coding-tasks/bin/capataz-coding.mjs',
    reason: 'hands the environment on unread when it replaces its own process',
  },
  {
    rule: 'environment',
    path: 'apps/rpa-launcher/bin/capataz-rpa.mjs',
    reason: 'hands the environment on unread when it replaces its own process',
  },
  {
    rule: 'environment',
    path: 'apps/llm-jobs/bin/capataz-llm.mjs',
    reason: 'hands the environment on unread when it replaces its own process',
  },
];

const isInLibraryOrTest = ({ path }: SourceFile): boolean =>
  path.startsWith(`${packageRoot}/`) || path.startsWith('test/') || isTest(path);

const useClock = 'the Clock of packages/capataz/src/std/clock.ts, in a test the virtual one';
const useRandom = 'the Random of packages/capataz/src/std/random.ts, in a test a seeded one';
const useEnvironment =
  'a value from packages/capataz/src/config/environment.ts (in an app, from its environment.ts)';

const rules: readonly Rule[] = [
  {
    name: 'clock',
    appliesTo: isInLibraryOrTest,
    bans: [
      ban(/\bDate\.now\b/, 'reads the time with Date.now', useClock),
      ban(/\bnew Date(?:\(\s*\)|(?!\s*\(|\w))/, 'reads the time with new Date()', useClock),
      ban(/(?<![\w$.]|new )Date\(\s*\)/, 'reads the time with Date()', useClock),
      ban(/\bperformance\s*\.\s*(?:now|timeOrigin)\b/, 'reads the time with performance', useClock),
      ban(/\bprocess\.hrtime\b/, 'reads the time with process.hrtime', useClock),
      ban(
        /(?:(?<![\w$.])|\bglobalThis\.)set(?:Timeout|Interval)\b(?!\s*\??:)/,
        'waits with a timer of its own (a test awaits an event, never a duration)',
        useClock,
      ),
      ban(/\bAbortSignal\.timeout\b/, 'waits with AbortSignal.timeout', useClock),
    ],
    importBans: [
      ban(/^(?:node:)?(?:timers(?:\/promises)?|perf_hooks)$/, 'imports timers', useClock),
    ],
  },
  {
    name: 'random',
    appliesTo: isInLibraryOrTest,
    bans: [
      ban(/\bMath\.random\b/, 'draws with Math.random', useRandom),
      ban(
        /(?:(?<![\w$.])|\bcrypto\.)(?:randomUUID(?:v7)?|randomBytes|randomInt|randomFill(?:Sync)?|getRandomValues)\b/,
        'draws from node:crypto',
        useRandom,
      ),
    ],
    importBans: [],
  },
  {
    name: 'environment',
    appliesTo: ({ path }) =>
      !/^(?:scripts|bench|test)\//.test(path) && !/^apps\/.*\/environment\.ts$/.test(path),
    bans: [ban(/\bprocess\s*\.\s*env\b/, 'reads process.env', useEnvironment)],
    importBans: [ban(/^(?:node:)?process$/, 'imports node:process', useEnvironment)],
  },
];

for (const rule of rules) {
  test(`${rule.name}: one door only`, () => {
    const violations = allSources
      .filter(rule.appliesTo)
      .filter(({ path }) => !isExcepted(rule, path))
      .flatMap((source) => findRuleViolations(rule, source));
    assertNone(violations);
  });
}

test('every exception is still needed', () => {
  for (const { rule: name, path } of exceptions) {
    const rule = rules.find((candidate) => candidate.name === name);
    assert.ok(rule, `no rule is named ${name}`);
    const source = allSources.find((candidate) => candidate.path === path);
    if (source === undefined) continue;
    assert.ok(
      findRuleViolations(rule, source).length > 0,
      `${path}: needs its exception from the rule '${name}' no more; instead: delete the exception`,
    );
  }
});

function ban(pattern: RegExp, rule: string, replacement: string): Ban {
  return { pattern, rule, replacement };
}

function isExcepted(rule: Rule, path: string): boolean {
  return exceptions.some((exception) => exception.rule === rule.name && exception.path === path);
}

function findRuleViolations(rule: Rule, source: SourceFile): Violation[] {
  const imports = rule.importBans.flatMap(({ pattern, rule: sentence, replacement }) =>
    source.imports
      .filter(({ specifier }) => pattern.test(specifier))
      .map(({ line }) => ({ path: source.path, line, rule: sentence, replacement })),
  );
  return [...findBanned(source, rule.bans), ...imports];
}
