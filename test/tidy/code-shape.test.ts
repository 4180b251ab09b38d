/**
 * What the linter can't see or lets be suppressed. Functions of at most 80 lines are the linter's
 * (`noExcessiveLinesPerFunction` in biome.json), because it has a parser.
 */
import { basename } from 'node:path';
import { test } from 'node:test';
import { allSources, isTest, listFiles, type SourceFile } from './sources.ts';
import { assertNone, type Ban, findBanned } from './violations.ts';

const maxFileLines = 500;

/** The dashboard has its own conventions: components in PascalCase files, JSX. */
const sources = allSources.filter(({ path }) => !path.startsWith('packages/dashboard/'));

const typeBans: readonly Ban[] = [
  {
    pattern: /(?<![\w$.'"])any(?![\w$]|\s*[(:'"])/,
    rule: 'uses the type any',
    replacement: 'unknown and a check, or a type parameter',
  },
  {
    pattern: /(?<![\w$.])enum\s+[\w$]+\s*\{/,
    rule: 'declares an enum, which Node can’t run',
    replacement: 'a union of string literals, with an `as const` array if its values are listed',
  },
  {
    pattern: /(?<![\w$.])(?:namespace|module)\s+[\w$.]+\s*\{/,
    rule: 'declares a namespace, which Node can’t run',
    replacement: 'a module of its own',
  },
];

const defaultExportBans: readonly Ban[] = [
  {
    pattern: /\bexport\s+default\b|\bas\s+default\b/,
    rule: 'has a default export',
    replacement: 'a named export (only blueprint modules and tool configurations have a default)',
  },
];

const pausedTestBans: readonly Ban[] = [
  {
    pattern: /\b(?:test|it|describe|suite|t|context)\.(?:skip|todo|only)\b/,
    rule: 'pauses tests',
    replacement: 'fix or delete the test',
  },
  {
    pattern: /[{,]\s*(?:skip|todo|only)\s*:/,
    rule: 'pauses tests',
    replacement: 'fix or delete the test',
  },
];

test('no any, no enum, no namespace', () => {
  assertNone(sources.flatMap((source) => findBanned(source, typeBans)));
});

test('no default exports outside blueprint modules', () => {
  const violations = sources
    .filter(({ path }) => !mayExportDefault(path))
    .flatMap((source) => findBanned(source, defaultExportBans));
  assertNone(violations);
});

test('no skipped, unfinished or focused tests', () => {
  const violations = sources
    .filter(({ path }) => isTest(path))
    .flatMap((source) => findBanned(source, pausedTestBans));
  assertNone(violations);
});

test('the type checker is not silenced without a reason', () => {
  assertNone(sources.flatMap(findSilencedTypes));
});

test('file and folder names are kebab-case', () => {
  const violations = listFiles('{packages,apps,examples,scripts,test,bench}/**/*.{ts,mjs,sql,lua}')
    .filter((path) => !path.startsWith('packages/dashboard/'))
    .filter((path) => !path.split('/').every((part) => isKebabCase(part)))
    .map((path) => ({
      path,
      line: 1,
      rule: 'its name is not kebab-case',
      replacement: path
        .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
        .replaceAll('_', '-')
        .toLowerCase(),
    }));
  assertNone(violations);
});

test(`files have at most ${maxFileLines} lines`, () => {
  const violations = sources
    .map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
    .filter(({ lines }) => lines > maxFileLines)
    .map(({ path, lines }) => ({
      path,
      line: maxFileLines + 1,
      rule: `${lines} lines, more than ${maxFileLines}`,
      replacement: 'split it by what it is about',
    }));
  assertNone(violations);
});

function mayExportDefault(path: string): boolean {
  const name = basename(path);
  return (
    /(?:^|[-.])blueprint(?:[-.].*)?\.ts$/.test(name) ||
    path.includes('/blueprints/') ||
    name.includes('.config.')
  );
}

function isKebabCase(part: string): boolean {
  return part.split('.').every((word) => /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(word));
}

function findSilencedTypes(source: SourceFile) {
  const replacement = '@ts-expect-error with a reason behind it, in a test of types';
  return source.text.split('\n').flatMap((text, index) => {
    const comment = text.match(/(?:\/\/|\/?\*)\s*@ts-(ignore|nocheck|expect-error)(.*)/);
    if (comment === null) return [];
    const isReasoned = comment[1] === 'expect-error' && /\w+\W+\w+/.test(comment[2] ?? '');
    if (isReasoned) return [];
    return [{ path: source.path, line: index + 1, rule: `silences the type checker`, replacement }];
  });
}
