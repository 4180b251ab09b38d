import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Breakers } from '../breaker/breakers.ts';
import { createFaultyBus } from '../bus/faulty.ts';
import { BusError, createInProcessBus, type PublishFault } from '../bus/index.ts';
import type { OutboxEvent } from '../store/contract.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { busSink, judgeBus } from './bus-sink.ts';

const event: OutboxEvent = {
  id: 'event-1',
  client: 'dev',
  jobId: 'job-1',
  sequence: 3,
  exchange: 'topic',
  name: 'tarea.creada',
  payload: { a: 1 },
  correlationId: 'correlation-1',
  trace: null,
  createdAt: 5,
  retryCount: 0,
  lastError: null,
};

function begin(fault: () => PublishFault = () => 'none') {
  const clock = new VirtualClock();
  const breakers = new Breakers({ clock, judge: judgeBus });
  const bus = createFaultyBus(createInProcessBus({ clock }), { clock, fault });
  return { clock, breakers, bus, sink: busSink({ bus, breakers, originator: 'capataz' }) };
}

test('H-43: a bus that is down opens its circuit, and the relay rests until the next probe', async () => {
  const { clock, bus, breakers, sink } = begin();
  await bus.disconnect();
  for (let tries = 1; tries <= 5; tries += 1) {
    assert.equal(sink.pausedForMs(), null);
    await assert.rejects(sink.publish(event), { code: 'down' });
  }
  assert.equal(sink.pausedForMs(), 30_000);
  assert.equal(breakers.get('bus').state, 'open', 'asking is no call');
  bus.reconnect();
  await clock.advance(30_000);
  assert.equal(sink.pausedForMs(), null);
  const probe = sink.publish(event);
  assert.equal(sink.pausedForMs(), 1_000, 'one probe at a time');
  await probe;
  await sink.publish(event);
  await sink.publish(event);
  assert.equal(breakers.get('bus').state, 'closed');
});

test('an event that no bus would take says nothing about the bus', async () => {
  const { sink, breakers } = begin();
  const tooLong = { ...event, name: 'x'.repeat(300) };
  for (let tries = 1; tries <= 6; tries += 1)
    await assert.rejects(sink.publish(tooLong), { code: 'invalid' });
  assert.equal(breakers.get('bus').state, 'closed');
  assert.equal(judgeBus(new BusError('full', 'no room')), 'success');
  assert.equal(judgeBus(new Error('a driver that throws')), 'failure');
});
