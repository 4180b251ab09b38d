import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finish, transition } from './action.ts';
import { blueprint } from './blueprint.ts';
import { toDot, toMermaid } from './graph.ts';

const sample = blueprint({
  name: 'sample',
  version: 3,
  states: {
    'be "gin"': { start: true, to: ['done', 'failed'], handle: () => transition('done') },
    done: { end: true, handle: () => finish() },
  },
});

test('A-5: DOT names every state and every declared edge, quoted', () => {
  const dot = toDot(sample);
  assert.match(dot, /^digraph "sample v3" \{\n/);
  assert.match(dot, /"" -> "be \\"gin\\"";/);
  assert.match(dot, /"be \\"gin\\"" -> "done";/);
  assert.match(dot, /"be \\"gin\\"" -> "failed";/);
  assert.match(dot, /"done" \[peripheries=2\];/);
  assert.match(dot, /"failed" \[peripheries=2, color=red\];/);
});

test('A-5: Mermaid has the same graph', () => {
  assert.equal(
    toMermaid(sample),
    [
      'stateDiagram-v2',
      '  direction LR',
      '  state "be #quot;gin#quot;" as s0',
      '  state "done" as s1',
      '  state "failed" as s2',
      '  [*] --> s0',
      '  s0 --> s1',
      '  s0 --> s2',
      '  s1 --> [*]',
      '  s2 --> [*]',
      '',
    ].join('\n'),
  );
});
