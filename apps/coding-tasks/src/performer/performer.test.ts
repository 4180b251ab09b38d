import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFaultyBus } from 'capataz/bus';
import { systemClock } from 'capataz/server';
import { originators } from '../contract/names.ts';
import { queues } from '../contract/queues.ts';
import { Desk } from './fixtures/desk.ts';
import { Place, until } from './fixtures/place.ts';
import { type Ledger, openLedger } from './ledger.ts';
import { createPerformer, type PerformerOptions } from './performer.ts';
import type { Work } from './work.ts';

const verdict = {
  outcome: { name: 'resultado.integracion_finalizada', payload: { exito: true, log: '' } },
  facts: null,
} as const;

/** A performer whose trade is a function, at a desk. */
class Bench implements AsyncDisposable {
  readonly place = new Place();
  readonly desk = new Desk();
  readonly ledger: Ledger = openLedger(this.place.path('ledger'));
  readonly #stops: (() => Promise<void>)[] = [];

  async start(work: Work, options: Partial<PerformerOptions> = {}) {
    if (this.#stops.length === 0) await this.desk.open();
    const performer = createPerformer({
      ...this.desk.world,
      name: originators.sandbox,
      hasSessions: false,
      ledger: this.ledger,
      queue: queues.sandbox,
      work,
      runsAtOnce: 1,
      ...options,
    });
    performer.start();
    this.#stops.push(() => performer.stop());
    return performer;
  }

  test(intento: number, taskId = 'task-1'): Promise<void> {
    const payload = { pullRequestUrl: '/srv/shop.git#work', intento };
    return this.desk.order('tarea.probar_integracion', payload, { taskId });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops) await stop();
    this.ledger.close();
    await this.desk.bus.close();
    this.place[Symbol.dispose]();
  }
}

test('a result that the bus does not take is kept and said later, once', async () => {
  await using bench = new Bench();
  const bus = createFaultyBus(bench.desk.bus, { clock: systemClock });
  await bench.start(
    async () => {
      await bus.disconnect();
      return verdict;
    },
    { bus },
  );
  await bench.test(1);
  await until(() => bench.ledger.unpublished().length === 1);
  assert.deepEqual(bench.desk.all('resultado.integracion_finalizada'), []);
  bus.reconnect();
  await bench.desk.next('resultado.integracion_finalizada');
  await until(() => bench.ledger.unpublished().length === 0);
  assert.equal(bench.desk.all('resultado.integracion_finalizada').length, 1);
});

test('a new order of a task ends the work on the last one, and its result does not count', async () => {
  await using bench = new Bench();
  const begun: (number | null)[] = [];
  await bench.start(async ({ attempt }, { signal }) => {
    begun.push(attempt);
    if (attempt === 1) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return verdict;
  });
  await bench.test(1);
  await until(() => begun.length === 1);
  await bench.test(2);
  const { payload } = await bench.desk.next('resultado.integracion_finalizada');
  assert.deepEqual([payload.intento, begun], [2, [1, 2]]);
});

test('orders beyond the places wait, noted, and a poll says so', async () => {
  await using bench = new Bench();
  const release = Promise.withResolvers<void>();
  await bench.start(async () => {
    await release.promise;
    return verdict;
  });
  await bench.test(1, 'first');
  await bench.test(1, 'second');
  await bench.desk.order('tarea.consultar_estado', { sessionId: '' }, { taskId: 'second' });
  const { payload } = await bench.desk.next(
    'resultado.estado_actualizado',
    ({ taskId }) => taskId === 'second',
  );
  assert.match(payload.estado, /waiting/);
  release.resolve();
  await bench.desk.next('resultado.integracion_finalizada', ({ taskId }) => taskId === 'second');
});

test('work that is stopped stays noted; killed too often without an end, it is given up', async () => {
  await using bench = new Bench();
  const hang: Work = (_, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error())));
  const first = await bench.start(hang);
  await bench.test(1);
  await bench.desk.next('resultado.estado_actualizado');
  await first.stop();
  const [run] = bench.ledger.open();
  // A stop in good order is no sign of work that kills its service.
  assert.equal(run?.starts, 0);
  for (let kills = 0; kills < 3; kills += 1) bench.ledger.begin(run.id);
  await bench.start(hang);
  const { payload } = await bench.desk.next('resultado.error');
  assert.deepEqual([payload.codigo, payload.recuperable], ['interrumpido', true]);
  assert.deepEqual(bench.ledger.open(), []);
});

test('what is malformed becomes a dead letter with the field that is wrong', async () => {
  await using bench = new Bench();
  await bench.start(async () => verdict);
  await bench.desk.order('tarea.probar_integracion', { pullRequestUrl: 7 });
  await until(() => bench.desk.bus.health().deadLettered > 0);
  await bench.desk.bus.reviewDead(queues.sandbox.durable, ({ reason }) => {
    assert.match(reason, /payload\.pullRequestUrl/);
    return 'drop';
  });
});

test('what ended long ago is forgotten, what is open or unsaid is not', async () => {
  using place = new Place();
  const ledger = openLedger(place.path('ledger'));
  const order = (task: string) => ({
    ...{ id: task, task, name: 'tarea.generar_plan', key: 'k', attempt: 1, payload: {} },
    correlationId: task,
  });
  for (const task of ['said', 'unsaid', 'open']) {
    ledger.note(order(task), 1_000);
    ledger.saveTask(task, { sessionId: task });
    const result = { id: `result-${task}`, name: 'resultado.error', payload: {} };
    if (task !== 'open') ledger.finish(task, { result, facts: null }, 1_000);
  }
  ledger.published('result-said');
  ledger.forgetBefore(2_000);
  const known = ['said', 'unsaid', 'open'].map((task) => ledger.task(task) !== null);
  assert.deepEqual(known, [false, true, true]);
  assert.equal(ledger.note(order('said'), 3_000).is, 'new');
  ledger.close();
});

test('a full disk: what was done is noted once there is room, and nothing dies of it', async () => {
  await using bench = new Bench();
  let failures = 0;
  const full = (): void => {
    failures += 1;
    if (failures % 2 === 1) throw new Error('database or disk is full');
  };
  const ledger = new Proxy(bench.ledger, {
    get(target, name: keyof Ledger) {
      if (name === 'begin' || name === 'finish') full();
      return target[name].bind(target);
    },
  });
  await bench.start(async () => verdict, { ledger });
  await bench.test(1);
  await bench.desk.next('resultado.integracion_finalizada');
  assert.equal(failures, 4);
});
