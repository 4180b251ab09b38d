/** The state of the Control Room, as calls show it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orderOf, room } from '../control-room/fixtures/room.ts';
import type { AlertKind, Alerts } from './contract.ts';
import { watchControlRoom } from './watched-control-room.ts';

function recording() {
  const told: string[] = [];
  const raisedKinds = new Set<AlertKind>();
  const alerts: Alerts = {
    raise: async ({ kind }) => {
      if (!raisedKinds.has(kind)) told.push(`raise ${kind}`);
      raisedKinds.add(kind);
      return 'sent';
    },
    clear: async (kind) => {
      if (raisedKinds.delete(kind)) told.push(`clear ${kind}`);
    },
    reread: () => {},
    current: async () => [],
    close: async () => {},
  };
  return { alerts, told };
}

test('LH-15: credentials that are rejected are told, and that they are taken again; so is a Control Room that is down', async () => {
  const { fake, controlRoom, passing, clock } = room();
  const { alerts, told } = recording();
  const watched = watchControlRoom(controlRoom, alerts);
  const user = fake.estate.users.get(1);
  assert.ok(user);
  fake.estate.users.set(1, { ...user, isDisabled: true });
  await passing(watched.deploy(orderOf()));
  await assert.rejects(passing(watched.users()));
  fake.estate.users.set(1, user);
  await clock.advance(60_000);
  await passing(watched.devices());
  fake.isDown = true;
  await passing(watched.deploy(orderOf()));
  await passing(watched.activitiesOf(['x']));
  fake.isDown = false;
  await passing(watched.activitiesOf(['x']));
  assert.deepEqual(told, [
    'raise credentials_rejected',
    'clear credentials_rejected',
    'raise control_room_down',
    'clear control_room_down',
  ]);
});

test('a 500 to one deployment says nothing of the Control Room, a 503 does, a refusal says that it is up', async () => {
  const { fake, controlRoom, passing } = room();
  const { alerts, told } = recording();
  const watched = watchControlRoom(controlRoom, alerts);
  for (const status of [500, 503, 500, 412, 500]) {
    fake.faults.clear();
    fake.faults.add({ endpoint: 'deploy', status });
    await passing(watched.deploy(orderOf()));
  }
  assert.deepEqual(told, ['raise control_room_down', 'clear control_room_down']);
});

test('LH-5: clocks that differ by more than five seconds are told', async () => {
  const { fake, controlRoom, passing } = room({ switches: { clockAheadMs: -8_000 } });
  const { alerts, told } = recording();
  const watched = watchControlRoom(controlRoom, alerts);
  await passing(watched.devices());
  fake.set({ clockAheadMs: 3_000 });
  await passing(watched.devices());
  assert.deepEqual(told, ['raise clock_skew', 'clear clock_skew']);
});
