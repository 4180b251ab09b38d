import { test } from 'node:test';
import { listFiles, readText } from './sources.ts';
import { assertNone } from './violations.ts';

test('every document starts with a title', () => {
  const violations = listFiles(
    '{*.md,docs/**/*.md,packages/*/README.md,apps/*/*.md,examples/*/*.md}',
  )
    .filter((path) => !/^# \S/.test(readText(path)))
    .map((path) => ({
      path,
      line: 1,
      rule: 'does not start with a title',
      replacement: 'a first line `# Title`',
    }));
  assertNone(violations);
});

test('design notes are numbered', () => {
  const violations = listFiles('docs/design/*.md')
    .filter((path) => !/^docs\/design\/(?:README|\d{3}-[a-z0-9-]+)\.md$/.test(path))
    .map((path) => ({
      path,
      line: 1,
      rule: 'is not named by number and title',
      replacement: 'docs/design/NNN-title-in-kebab-case.md',
    }));
  assertNone(violations);
});

test('the changelog has an Unreleased section above its versions', () => {
  const path = 'CHANGELOG.md';
  const sections = [...readText(path).matchAll(/^## (.*)$/gm)].map((match) => match[1]);
  const violations =
    sections[0] === '[Unreleased]'
      ? []
      : [
          {
            path,
            line: 1,
            rule: 'its first section is not Unreleased',
            replacement: '`## [Unreleased]` above the newest version',
          },
        ];
  assertNone(violations);
});
