import assert from 'node:assert/strict';
import { test } from 'node:test';
import { globPattern } from '../std/glob.ts';
import { createAccess, developmentClient } from './access.ts';

test('A-48: the own token first, then patterns, then the common one, and none beside it', () => {
  const access = createAccess({
    clients: [],
    workers: [
      { id: 'gpu-1', token: 'own' },
      { pattern: 'gpu-*', token: 'gpus' },
      { id: 'lone', token: 'lone-token' },
    ],
    commonWorkerToken: 'common',
  });
  assert.equal(access.worker('own', 'gpu-1'), 'ok');
  assert.equal(access.worker('gpus', 'gpu-1'), 'forbidden');
  assert.equal(access.worker('common', 'gpu-1'), 'forbidden');
  assert.equal(access.worker('gpus', 'gpu-2'), 'ok');
  assert.equal(access.worker('common', 'gpu-2'), 'forbidden');
  assert.equal(access.worker('common', 'cpu-1'), 'ok');
  assert.equal(access.worker('own', 'cpu-1'), 'forbidden');
  assert.equal(access.worker('lone-token', 'gpu-2'), 'forbidden');
});

test('S-39: a worker token that is missing, empty or unknown is unauthorized', () => {
  const access = createAccess({ clients: null, workers: [], commonWorkerToken: 'common' });
  for (const token of [undefined, '', 'Common', 'common ']) {
    assert.equal(access.worker(token, 'w'), 'unauthorized');
  }
});

test('S-52: without files everyone is the client dev and any worker may come', () => {
  const access = createAccess({ clients: null, workers: null, commonWorkerToken: null });
  assert.deepEqual(access.client(undefined), developmentClient);
  assert.equal(access.worker(undefined, 'w'), 'ok');
});

test('A-47: a client is known by its token alone', () => {
  const access = createAccess({
    clients: [{ name: 'acme', token: 't1', plan: 'gold', params: { limit: 3 } }],
    workers: null,
    commonWorkerToken: null,
  });
  assert.deepEqual(access.client('t1'), { name: 'acme', plan: 'gold', params: { limit: 3 } });
  assert.equal(access.client('t2'), null);
  assert.equal(access.client(undefined), null);
});

test('two clients with one token stop the start', () => {
  const clients = [
    { name: 'a', token: 't' },
    { name: 'b', token: 't' },
  ];
  assert.throws(() => createAccess({ clients, workers: null, commonWorkerToken: null }), {
    code: 'CONFIG_INVALID',
    message: /"a" and "b"/,
  });
});

test('globs', () => {
  const cases: [glob: string, text: string, matches: boolean][] = [
    ['gpu-*', 'gpu-', true],
    ['gpu-*', 'xgpu-1', false],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['w[0-3]', 'w2', true],
    ['w[!0-3]', 'w2', false],
    ['a.b', 'axb', false],
    ['a+(b)', 'a+(b)', true],
    ['w[', 'w[', true],
  ];
  for (const [glob, text, matches] of cases) {
    assert.equal(globPattern(glob).test(text), matches, `${glob} and ${text}`);
  }
});
