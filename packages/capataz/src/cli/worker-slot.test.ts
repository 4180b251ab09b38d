import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { systemRandom } from '../std/random.ts';
import { addressOf, claimSlot } from './worker-slot.ts';

/** Names are the machine's: other tests run beside this one. */
const base = `slot-${systemRandom.id()}`;

test('the first process has the id itself, further ones the next number, a new one the lowest free', async () => {
  const first = await claimSlot(base);
  const second = await claimSlot(base);
  const third = await claimSlot(base);
  assert.deepEqual([first.id, second.id, third.id], [base, `${base}-2`, `${base}-3`]);
  assert.deepEqual([first.number, second.number, third.number], [1, 2, 3]);
  await second.release();
  const again = await claimSlot(base);
  assert.equal(again.id, `${base}-2`);
  for (const slot of [first, third, again]) await slot.release();
});

test('a name that a module has of its own is never given to another', async () => {
  const named = await claimSlot(`${base}-2`);
  const first = await claimSlot(base);
  const second = await claimSlot(base);
  assert.deepEqual([first.id, second.id], [base, `${base}-3`]);
  for (const slot of [named, first, second]) await slot.release();
});

test('with a file as address, one that a dead process left is taken over', async () => {
  const address = addressOf(base, 'file');
  writeFileSync(address, '');
  const first = await claimSlot(base, 'file');
  const second = await claimSlot(base, 'file');
  assert.deepEqual([first.id, second.id], [base, `${base}-2`]);
  await first.release();
  await second.release();
  rmSync(address, { force: true });
});

test('an id is never too long for its number', async () => {
  const long = `${base}-${'x'.repeat(200)}`.slice(0, 200);
  const first = await claimSlot(long);
  const second = await claimSlot(long);
  assert.equal(second.id, `${long.slice(0, 195)}-2`);
  await first.release();
  await second.release();
});
