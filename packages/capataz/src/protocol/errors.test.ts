import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CapatazError, type ErrorCode, errorCatalogue, retryAfterMs } from './errors.ts';
import { errorClass } from './worker-errors.ts';

const codes = Object.keys(errorCatalogue) as ErrorCode[];

test('every code has a status of the right kind and a sentence', () => {
  for (const code of codes) {
    const { status, retryable, meaning } = errorCatalogue[code];
    assert.match(code, /^[A-Z]+(_[A-Z]+)*$/);
    assert.match(meaning, /^[A-Z`].*\.$/s, code);
    if (status === null) continue;
    assert.ok((status >= 400 && status <= 500) || status === 503, code);
    if (status === 429 || status === 503) assert.equal(retryable, true, code);
    if (status < 409) assert.equal(retryable, false, code);
  }
});

test('an error answers with its code, its sentence and its details', () => {
  const error = new CapatazError('LIMIT', 'too many jobs', { retry_after_ms: 1_500 });
  assert.deepEqual(error.toBody(), {
    error: 'too many jobs',
    code: 'LIMIT',
    details: { retry_after_ms: 1_500 },
  });
  assert.deepEqual([error.status, error.retryable, retryAfterMs(error)], [429, true, 1_500]);
  const bare = new CapatazError('JOB_NOT_FOUND', 'no such job');
  assert.deepEqual(bare.toBody(), { error: 'no such job', code: 'JOB_NOT_FOUND' });
  assert.deepEqual([bare.status, bare.retryable, retryAfterMs(bare)], [404, false, undefined]);
});

test('an error keeps its cause, which its body does not tell', () => {
  const cause = new Error('disk full');
  const error = new CapatazError('STORE_UNAVAILABLE', 'not now', undefined, cause);
  assert.equal(error.cause, cause);
  assert.equal(JSON.stringify(error.toBody()).includes('disk'), false);
});

test('A-19 A-20 A-21 the worker’s codes fall into three classes; an unknown one is transient', () => {
  assert.equal(errorClass('TRANSIENT_ERROR'), 'transient');
  assert.equal(errorClass('PERMANENT_ERROR'), 'permanent');
  assert.equal(errorClass('INVALID_INPUT_ERROR'), 'invalid_input');
  for (const code of ['', 'A_CODE_OF_TOMORROW', 'toString', '__proto__']) {
    assert.equal(errorClass(code), 'transient', code);
  }
});
