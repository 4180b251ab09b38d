import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Breakers, type BreakersOptions, CircuitOpenError } from 'capataz';
import { VirtualClock } from 'capataz/testing';

function registry(options: BreakersOptions = {}) {
  const clock = new VirtualClock();
  return { clock, breakers: new Breakers({ clock, ...options }) };
}

const broken = (breakers: Breakers, name: string): Promise<unknown> =>
  breakers.call(name, () => Promise.reject(new Error('dead'))).catch((error: unknown) => error);

const names = (breakers: Breakers): string[] => breakers.list().map(({ name }) => name);

async function open(breakers: Breakers, name: string): Promise<void> {
  for (let count = 0; count < 5; count += 1) await broken(breakers, name);
  assert.equal(breakers.get(name).state, 'open');
}

test('H-45 a dead endpoint costs a bounded number of attempts, none that blocks, and no one else', async () => {
  const { clock, breakers } = registry();
  let attempts = 0;
  let refusals = 0;
  for (let second = 0; second < 600; second += 1) {
    const outcome = await breakers
      .call('dead', () => {
        attempts += 1;
        throw new Error('no answer');
      })
      .catch((error: unknown) => error);
    if (outcome instanceof CircuitOpenError) refusals += 1;
    assert.equal(await breakers.call('alive', () => second), second);
    await clock.advance(1_000);
  }
  // Five to open, in seconds 0 to 4; then one probe each 30 s, the last at 4 + 19 × 30 = 574.
  assert.deepEqual([attempts, refusals], [5 + 19, 600 - 24]);
  assert.deepEqual(
    breakers.list().map(({ name, stateNumber }) => [name, stateNumber]),
    [
      ['dead', 2],
      ['alive', 0],
    ],
  );
});

test('H-y one breaker a key: the failures of all calls to it add up', async () => {
  const { breakers } = registry();
  await open(breakers, 'provider');
  assert.equal(breakers.get('provider'), breakers.get('provider'));
  assert.equal(breakers.get('other').state, 'closed');
});

test('H-y keys are bounded: closed and idle ones go first, open ones and those at work stay', async () => {
  const { clock, breakers } = registry({ maxKeys: 3 });
  await open(breakers, 'down');
  await clock.advance(1);
  const answer = Promise.withResolvers<string>();
  const call = breakers.call('busy', () => answer.promise);
  await breakers.call('quick', () => 'fine');
  await clock.advance(1);
  for (let key = 0; key < 100; key += 1) {
    await breakers.call(`key-${key}`, () => key);
    await clock.advance(1);
    assert.deepEqual(names(breakers), ['down', 'busy', `key-${key}`]);
  }
  assert.equal(breakers.get('down').state, 'open');
  answer.resolve('fine');
  assert.equal(await call, 'fine');
});

test('H-y the bound holds even if every key is at work', () => {
  const { breakers } = registry({ maxKeys: 2 });
  for (let key = 0; key < 10; key += 1) {
    breakers.get(`key-${key}`).admit();
    assert.ok(breakers.list().length <= 2);
  }
});

test('H-y an idle key is forgotten after its time, and not before its open time has passed', async () => {
  const { clock, breakers } = registry({ idleFor: '1m' });
  await breakers.call('a', () => 1);
  await clock.advance(30_000);
  await breakers.call('b', () => 1);
  await clock.advance(29_999);
  assert.deepEqual(names(breakers), ['a', 'b']);
  await clock.advance(1);
  assert.deepEqual(names(breakers), ['b']);

  const patient = registry({ idleFor: '1m', openFor: '1h' });
  await open(patient.breakers, 'down');
  await patient.clock.advance(3_599_999);
  assert.equal(patient.breakers.get('down').state, 'open');
});

test('H-y a key that comes back after its time starts closed', async () => {
  const { clock, breakers } = registry();
  await open(breakers, 'host');
  await clock.advance(600_000);
  assert.equal(breakers.get('host').state, 'closed');
});

test('H-y when a worker ends, its series does too', async () => {
  const { breakers } = registry();
  await open(breakers, 'worker-1');
  assert.deepEqual([breakers.forget('worker-1'), breakers.forget('worker-1')], [true, false]);
  assert.deepEqual(names(breakers), []);
});

test('H-y a slip in the options shows when the registry is made', () => {
  assert.throws(() => new Breakers({ maxKeys: 0 }), /maxKeys/);
  assert.throws(() => new Breakers({ idleFor: 'soon' }), /idleFor/);
  assert.throws(() => new Breakers({ failureThreshold: -1 }), /failureThreshold/);
});
