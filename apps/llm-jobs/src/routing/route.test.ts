import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { keyword, route } from './route.ts';
import { loadSkills } from './skills.ts';

const { routing } = loadSkills(null, 'Sonnet');
const skillOf = (description: string): string => route(description, routing).skill;
const tierOf = (description: string): string => route(description, routing).model;
/** Long enough to be not simple for its shortness. */
const plain = (words: string): string => `${words} in the third chapter`;

function withFile<T>(content: string, work: (file: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'capataz-llm-skills-'));
  try {
    const file = join(folder, 'skills.toml');
    writeFileSync(file, content);
    return work(file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('W-h: skills that are equal are taken in the order of the file, every time', () => {
  // 10 each.
  assert.equal(skillOf('Refactor the tests'), 'testing');
  assert.equal(skillOf('Document the fix'), 'documentation');
  assert.equal(skillOf('Fix the doc'), 'documentation');
});

test('the seed’s words lead to the seed’s skills, and weights are summed', () => {
  assert.equal(skillOf('Write tests for the parser'), 'testing');
  assert.equal(skillOf('Clean up the settings'), 'refactoring');
  assert.equal(skillOf('Extend the README'), 'documentation');
  assert.equal(skillOf('Debug the error'), 'bug_fix');
  assert.equal(skillOf('Implement a cache'), 'code_generation');
  assert.equal(skillOf('Look around'), 'code_generation');
  // spec 5 and error 5 + debug 7.
  assert.equal(skillOf('Debug the error in the spec'), 'bug_fix');
});

test('W-i, S-80: words match whole words, and an entry that ends in * any ending', () => {
  for (const word of ['latest', 'docker', 'prefix', 'address', 'contest', 'specify'])
    assert.equal(skillOf(`Look at the ${word}`), 'code_generation', word);
  assert.equal(skillOf('TESTS, please'), 'testing');
  assert.equal(tierOf(plain('Send the information')), 'Sonnet');
  assert.equal(tierOf(plain('Format the text')), 'Haiku');
  assert.ok(keyword('refactor*', 1).pattern.test('the Refactoring of it'));
  assert.ok(!keyword('refactor', 1).pattern.test('the refactoring of it'));
  assert.ok(keyword('clean up', 1).pattern.test('clean  up'));
  assert.ok(!keyword('fix', 1).pattern.test('préfix'));
});

test('W-i: debug counts for debug alone, and spellings of one word count once', () => {
  // documentation 10 against debug 7: with `bug` counted as well it would be 17.
  assert.equal(skillOf('Debug the docs'), 'documentation');
  // testing 10 once against refactoring 15.
  assert.equal(skillOf('Refactor and clean up the test and the tests'), 'refactoring');
});

test('simple and complex jobs get the cheapest and the most capable tier', () => {
  assert.equal(tierOf('Rename the field of the first table'), 'Haiku');
  assert.equal(tierOf('Short one'), 'Haiku');
  assert.equal(tierOf('Redesign the billing of all tenants'), 'Opus');
  assert.equal(tierOf(`${'word '.repeat(25)}`), 'Opus');
  assert.equal(tierOf(`Rename the system and ${'then '.repeat(20)}`), 'Opus');
});

test('W-u: a job that is neither simple nor complex gets the default tier', () => {
  const description = plain('Write something');
  assert.equal(tierOf(description), 'Sonnet');
  assert.equal(route(description, loadSkills(null, 'Haiku').routing).model, 'Haiku');
});

test('skills and words of a file are laid over those that are shipped', () => {
  const own = `
    default_skill = "letters"
    [skills.letters]
    words = { "letter*|mail" = 7 }
    instructions = "Be polite."
    max_tokens = 100
    [skills.testing]
    words = { "check" = 4 }
    [tiers]
    least = 11
  `;
  withFile(own, (file) => {
    const { skills, routing: rules } = loadSkills(file, 'Sonnet');
    assert.deepEqual([...skills.keys()].at(-1), 'letters');
    assert.partialDeepStrictEqual(skills.get('letters'), {
      instructions: 'Be polite.',
      maxTokens: 100,
    });
    const of = (description: string) => route(description, rules);
    assert.deepEqual(of('Answer the letters of this week'), { skill: 'letters', model: 'Sonnet' });
    assert.equal(of('Look around').skill, 'letters');
    assert.equal(of('check the tests').skill, 'testing');
    assert.equal(of('the tests').skill, 'letters');
    assert.equal(of(plain('Rename it')).model, 'Sonnet');
  });
});

test('a bad skills file is refused with file, entry and field, all at once', () => {
  const bad = `
    default_skill = "nobody"
    [skills.letters]
    attachments = ["missing.md"]
    [skills.letters.check]
    pattern = "("
  `;
  withFile(bad, (file) => {
    assert.throws(
      () => loadSkills(file, 'Sonnet'),
      ({ message }: Error) => {
        assert.ok(message.includes(`${file}: default_skill: "nobody" is no skill`), message);
        assert.match(message, /skills\.letters\.check: check\.pattern: Invalid regular expression/);
        assert.match(
          message,
          /skills\.letters\.attachments\.0: .*missing\.md cannot be read \(ENOENT\)/,
        );
        return true;
      },
    );
  });
  withFile('[skills.letters]\nword = 3\n', (file) =>
    assert.throws(() => loadSkills(file, 'Sonnet'), /skills\.toml: skills\.letters: .*word/),
  );
  withFile('[skills\n', (file) =>
    assert.throws(() => loadSkills(file, 'Sonnet'), /skills\.toml:1:\d+: /),
  );
});
