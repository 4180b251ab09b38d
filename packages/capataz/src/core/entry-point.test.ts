import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as capataz from 'capataz';
import { aJob, change, created } from './fixtures.ts';

test('S-57 capataz exports blueprint and the actions that exist', () => {
  const { blueprint, transition, dispatch, sleep, retry, finish, fail } = capataz;
  assert.equal(typeof blueprint, 'function');
  assert.deepEqual(
    [
      transition('done'),
      dispatch('echo', { n: 1 }, { on: { success: 'done' } }),
      sleep('1s', 'done'),
      retry({ reason: 'busy' }),
      finish(7),
      fail('no'),
    ].map(({ type }) => type),
    ['transition', 'dispatch', 'sleep', 'retry', 'finish', 'fail'],
  );
});

test('S-57 A-1 a blueprint that is written with them runs', () => {
  const { blueprint, finish, transition } = capataz;
  const machine = blueprint({
    name: 'greeting',
    version: 1,
    states: {
      start: { start: true, to: ['greet'], handle: () => transition('greet') },
      greet: { end: true, handle: () => finish('hello') },
    },
  });
  assert.equal(change(aJob(), created, machine).job.result, 'hello');
});

test('capataz exports the calendar of blackouts, which goes by its zone', () => {
  const night = capataz.blackout('night', { from: '22:00', to: '06:00', zone: 'Asia/Tokyo' });
  assert.equal(night.at(Date.parse('2026-03-02T12:59:59Z')), null);
  assert.equal(
    night.at(Date.parse('2026-03-02T13:00:00Z'))?.end,
    Date.parse('2026-03-02T21:00:00Z'),
  );
  assert.throws(
    () => capataz.blackout('x', { from: '22:00', to: '22:00', zone: 'UTC' }),
    capataz.RuleError,
  );
});
