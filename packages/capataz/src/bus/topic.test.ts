import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { topicMatches } from './topic.ts';

test('topics match word by word as in AMQP', () => {
  const cases: [string, string, boolean][] = [
    ['tarea.crear', 'tarea.crear', true],
    ['tarea.crear', 'tarea.crear.ya', false],
    ['tarea.*', 'tarea.crear', true],
    ['tarea.*', 'tarea', false],
    ['tarea.*', 'tarea.crear.ya', false],
    ['#', 'resultado.pr_generada', true],
    ['resultado.#', 'resultado', true],
    ['#.error', 'a.b.error', true],
    ['#.error', 'a.error.b', false],
    ['a.#.b.*.c', 'a.x.b.y.b.z.c', true],
    ['#.#', 'a', true],
    ['a*', 'ab', false],
  ];
  for (const [pattern, name, expected] of cases) {
    assert.equal(topicMatches(pattern, name), expected, `${pattern} and ${name}`);
  }
});

test('topics match as the plain definition says, also with many hashes', () => {
  const word = fc.constantFrom('a', 'b');
  const patterns = fc.array(fc.oneof(word, fc.constantFrom('*', '#')), {
    minLength: 1,
    maxLength: 6,
  });
  fc.assert(
    fc.property(patterns, fc.array(word, { minLength: 1, maxLength: 6 }), (pattern, words) => {
      assert.equal(
        topicMatches(pattern.join('.'), words.join('.')),
        matchesByDefinition(pattern, words),
      );
    }),
  );
});

function matchesByDefinition(pattern: readonly string[], words: readonly string[]): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return words.length === 0;
  if (first === '#') {
    return (
      matchesByDefinition(rest, words) ||
      (words.length > 0 && matchesByDefinition(pattern, words.slice(1)))
    );
  }
  return (
    (first === '*' ? words.length > 0 : first === words[0]) &&
    matchesByDefinition(rest, words.slice(1))
  );
}
