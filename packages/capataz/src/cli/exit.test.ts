import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CapatazError } from '../protocol/errors.ts';
import { errorText } from './exit.ts';

test('what is wrong in a request is told once, each with its path', () => {
  const problems = [
    { path: 'priority', message: 'is refused: too big' },
    { path: '', message: 'the body must be an object' },
  ];
  const message = 'priority is refused: too big; the body must be an object';
  assert.equal(
    errorText(new CapatazError('VALIDATION_FAILED', message, { problems })),
    'error VALIDATION_FAILED:\n  priority: is refused: too big\n  the body must be an object\n',
  );
  const input = new CapatazError('INPUT_INVALID', 'the input of blueprint "x": a: no; b: no', {
    problems: ['a: no', 'b: no'],
  });
  assert.equal(
    errorText(input),
    'error INPUT_INVALID:\n  the input of blueprint "x"\n  a: no\n  b: no\n',
  );
  const one = new CapatazError('VALIDATION_FAILED', 'limit is bad', {
    problems: [{ path: 'limit', message: 'is bad' }],
  });
  assert.equal(errorText(one), 'error VALIDATION_FAILED: limit: is bad\n');
});

test('an error that knows better than its code says what to do', () => {
  const hinted = new CapatazError('UNAUTHORIZED', 'no', { hint: 'Do this.' });
  assert.equal(errorText(hinted), 'error UNAUTHORIZED: no\n  Do this.\n');
  const module = new CapatazError('CONFIG_INVALID', 'there is no file x.ts', { module: '/x.ts' });
  assert.equal(errorText(module), 'error CONFIG_INVALID: there is no file x.ts\n');
});
