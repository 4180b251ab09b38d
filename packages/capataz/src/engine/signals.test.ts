import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finish, sleep, transition } from '../core/action.ts';
import { type Blueprint, type BlueprintDefinition, blueprint } from '../core/blueprint.ts';
import { holding } from '../core/share-actions.ts';
import { refuse, stay, type WaitForOptions, waitFor } from '../core/wait-actions.ts';
import type { JsonValue } from '../std/json.ts';
import { startWorld, type World } from './fixtures.ts';
import type { SentSignal } from './ports.ts';

type Names = 'begin' | 'listen' | 'asking' | 'more' | 'done' | 'silent' | 'late' | 'odd';
type Extras = Partial<Pick<BlueprintDefinition<Names, JsonValue>, 'early'>>;

/** Sleeps 5 s, then listens; the sub-state `asking` takes what `listen` takes. */
function listener(options: WaitForOptions<Names> = {}, extras: Extras = {}): Blueprint {
  return blueprint<Names>({
    name: 'listener',
    version: 1,
    ...extras,
    states: {
      begin: { start: true, to: ['listen'], handle: () => sleep('5s', 'listen') },
      listen: {
        to: ['silent', 'late', 'asking', 'more', 'odd'],
        on: {
          tick: stay((data, { data: by }) => {
            data.ticks = Number(data.ticks ?? 0) + Number(by ?? 1);
          }),
          back: stay(undefined, { in: 'listen' }),
          strange: () => refuse('it is odd'),
          told: (_job, { data }) =>
            stay(undefined, {
              note: 'told once more',
              ask: { exchange: 'x', name: 'ask', payload: data },
            }),
          choose: (_job, { data }) => transition(data === 'odd' ? 'odd' : 'more'),
          broken: () => {
            throw new Error('a broken row');
          },
          stop: 'done',
        },
        handle: (job) =>
          holding(
            waitFor<Names>({
              on: { silence: 'silent', timeout: 'late' },
              silence: { after: '1m' },
              deadline: '10m',
              ...options,
            }),
            { keys: [`of-${(job.input as { name?: string }).name ?? 'nobody'}`] },
          ),
      },
      asking: { parent: 'listen' },
      more: {
        to: ['done'],
        handle: () => waitFor({ on: { stop: 'done', timeout: 'done' }, deadline: '1h' }),
      },
      silent: { end: true },
      late: { end: true },
      odd: { end: true },
      done: { end: true, handle: (job) => finish(structuredClone(job.answer) as never) },
    },
  });
}

async function begin(machine = listener(), { listening = true } = {}) {
  const world = await startWorld({ blueprints: [machine] });
  const id = await world.create('listener', { input: { name: 'ana' } });
  if (listening) await world.advance(5_001);
  return { world, id };
}

let count = 0;

async function send(
  world: World,
  to: SentSignal['to'],
  name: string,
  fields: Partial<SentSignal> = {},
): Promise<string> {
  count += 1;
  const sent = { client: 'client-1', to, name, id: `id-${count}`, data: null, actor: 'bot' };
  const [answer] = await world.engine.signals.send([{ ...sent, ...fields }]);
  await world.settle();
  if (answer?.type !== 'refused') return answer?.type ?? 'nothing';
  return String(answer.error.details?.reason ?? answer.error.code);
}

test('S-59 a named signal leads to a state, which sees it', async () => {
  const { world, id } = await begin();
  assert.equal((await world.job(id)).status, 'waiting_for_event');
  assert.equal(await send(world, { jobId: id }, 'stop', { data: { why: 'enough' } }), 'taken');
  const { state, result } = await world.job(id);
  assert.deepEqual([state, result], ['done', { name: 'stop', data: { why: 'enough' } }]);
});

test('a row refuses a signal: its sender and the book have the reason, and silence goes on', async () => {
  const { world, id } = await begin();
  await world.advance(59_000);
  const to = { jobId: id };
  const sent = { client: 'client-1', to, name: 'strange', id: 's-1', data: null, actor: 'bot' };
  const [answer] = await world.engine.signals.send([sent]);
  assert.equal(answer?.type, 'refused');
  assert.deepEqual(answer.error.toBody(), {
    error: 'it is odd',
    code: 'SIGNAL_REFUSED',
    details: {
      reason: 'row_refused',
      said: 'it is odd',
      status: 'waiting_for_event',
      state: 'listen',
    },
  });
  const [entry] = await world.entries(id, 'signal_refused');
  assert.partialDeepStrictEqual(entry, {
    ...{ reason: 'row_refused', state: 'listen', actor: 'bot' },
    details: { what: 'signal strange', id: 's-1', said: 'it is odd' },
  });
  await world.advance(1_001);
  assert.equal((await world.job(id)).state, 'silent');
});

test('a row that stays notes why, and changes what the poll asks, not when', async () => {
  const { world, id } = await begin(
    listener({ poll: { every: '40s', emit: { exchange: 'x', name: 'ask', payload: 'first' } } }),
  );
  await world.advance(20_000);
  assert.equal(await send(world, { jobId: id }, 'told', { id: 's-2', data: 'second' }), 'taken');
  const [entry] = await world.entries(id, 'signal_taken');
  assert.deepEqual(entry?.details, { id: 's-2', note: 'told once more' });
  const { wait } = await world.job(id);
  assert.ok(wait?.type === 'event');
  assert.equal(wait.poll?.emit?.payload, 'second');
  await world.advance(20_001);
  assert.equal((await world.entries(id, 'polled')).length, 1);
});

test('S-59 the same id again changes nothing, also in one batch, and is answered as taken', async () => {
  const { world, id } = await begin();
  const to = { jobId: id };
  const tick = { client: 'client-1', to, name: 'tick', id: 'one', data: 1, actor: 'bot' };
  const answers = await world.engine.signals.send([tick, tick, { ...tick, id: 'two' }]);
  assert.deepEqual(
    answers.map(({ type }) => type),
    ['taken', 'taken', 'taken'],
  );
  await world.restart();
  assert.equal(await send(world, to, 'tick', { id: 'one', data: 1 }), 'taken');
  assert.equal((await world.job(id)).data.ticks, 2);
});

test('S-59 a batch of fifty to one job and to others is answered in order', async () => {
  const { world, id } = await begin();
  const signals = Array.from({ length: 50 }, (_, index) => ({
    client: 'client-1',
    to: index % 10 === 9 ? { jobId: 'nobody' } : { jobId: id },
    name: 'tick',
    id: `batch-${index}`,
    data: 1,
    actor: 'bot',
  }));
  const answers = await world.engine.signals.send(signals);
  assert.deepEqual(
    answers.map(({ type }) => type),
    signals.map(({ to }) => (to.jobId === id ? 'taken' : 'refused')),
  );
  assert.equal((await world.job(id)).data.ticks, 45);
});

test('S-59 S-4 two signals of one batch that lose a race are taken once each, and so is who won it', async () => {
  const { world, id } = await begin();
  const release = world.stopAt('commit');
  const winner = send(world, { jobId: id }, 'tick', { data: 1 });
  await world.settle();
  const tick = { client: 'client-1', to: { jobId: id }, name: 'tick', actor: 'bot' };
  const batch = world.engine.signals.send([
    { ...tick, id: 'ten', data: 10 },
    { ...tick, id: 'hundred', data: 100 },
  ]);
  await world.settle();
  release();
  await Promise.all([winner, batch]);
  assert.equal((await world.job(id)).data.ticks, 111);
});

test('S-59 a job is found by the correlation key that it registered, by its own client alone', async () => {
  const { world, id } = await begin();
  assert.equal(await send(world, { key: 'of-ana' }, 'tick', { data: 3 }), 'taken');
  assert.equal((await world.job(id)).data.ticks, 3);
  assert.equal(
    await send(world, { key: 'of-ana' }, 'tick', { client: 'mallory' }),
    'JOB_NOT_FOUND',
  );
  assert.equal(await send(world, { jobId: id }, 'tick', { client: 'mallory' }), 'JOB_NOT_FOUND');
  await send(world, { jobId: id }, 'stop');
  assert.equal(await send(world, { key: 'of-ana' }, 'tick'), 'JOB_NOT_FOUND');
});

test('S-59 a signal to a key that nobody has registered yet is kept for its time to live', async () => {
  const { world, id } = await begin(listener(), { listening: false });
  const to = { key: 'of-ana' };
  assert.equal(await send(world, to, 'tick', { id: 'a', data: 5, keepForMs: 60_000 }), 'kept');
  assert.equal(await send(world, to, 'tick', { id: 'a', data: 5, keepForMs: 60_000 }), 'kept');
  assert.equal(await send(world, to, 'tick', { id: 'b', data: 9, keepForMs: 1_000 }), 'kept');
  assert.equal(await send(world, to, 'tick', { data: 9 }), 'JOB_NOT_FOUND');
  await world.restart();
  await world.advance(5_001);
  assert.equal((await world.job(id)).data.ticks, 5);
});

test('S-11 a signal before its wait is refused and recorded', async () => {
  const { world, id } = await begin(listener(), { listening: false });
  assert.equal(await send(world, { jobId: id }, 'stop'), 'signal_not_expected');
  assert.equal((await world.entries(id, 'signal_refused')).length, 1);
  await world.advance(5_001);
  assert.equal((await world.job(id)).status, 'waiting_for_event');
});

test('S-11 what the blueprint lists under early is kept, in order, and taken when the wait begins', async () => {
  const machine = listener({}, { early: { tick: '1m', stop: '1m' } });
  const { world, id } = await begin(machine, { listening: false });
  for (const data of [1, 2])
    assert.equal(await send(world, { jobId: id }, 'tick', { data }), 'taken');
  assert.equal(await send(world, { jobId: id }, 'stop'), 'taken');
  assert.equal(await send(world, { jobId: id }, 'choose'), 'signal_not_expected');
  await world.restart();
  await world.advance(5_001);
  const job = await world.job(id);
  assert.deepEqual([job.state, job.data.ticks], ['done', 3]);
});

test('S-11 what was kept early is taken before a signal that comes later', async () => {
  const machine = listener({}, { early: { tick: '1m' } });
  const { world, id } = await begin(machine, { listening: false });
  assert.equal(await send(world, { jobId: id }, 'tick'), 'taken');
  await world.advance(4_999);
  // The wait begins, and nobody looks into the inbox yet.
  const release = world.stopAnswerOf('due');
  await world.advance(1);
  const look = world.stopAt('due');
  release();
  await world.settle();
  assert.equal((await world.job(id)).state, 'listen');
  assert.equal(await send(world, { jobId: id }, 'stop'), 'taken');
  look();
  await world.settle();
  const job = await world.job(id);
  assert.deepEqual([job.status, job.data.ticks], ['finished', 1]);
});

test('S-11 early signals are bounded in number and in time', async () => {
  const { world, id } = await begin(listener({}, { early: { tick: '3s' } }), { listening: false });
  for (let n = 0; n < 100; n += 1) await send(world, { jobId: id }, 'tick');
  assert.equal(await send(world, { jobId: id }, 'tick'), 'too_many_early');
  await world.advance(5_001);
  assert.equal((await world.job(id)).data.ticks, undefined);
});

test('S-12 S-60 a poll moves the job to its sub-state, where wait, deadlines and the parent’s rows stay', async () => {
  const { world, id } = await begin(listener({ poll: { every: '20s', enter: 'asking' } }));
  await world.advance(20_001);
  assert.equal((await world.job(id)).state, 'asking');
  assert.equal(await send(world, { jobId: id }, 'tick', { data: 1 }), 'taken');
  assert.deepEqual((await world.job(id)).state, 'asking');
  assert.equal(await send(world, { jobId: id }, 'back'), 'taken');
  assert.equal((await world.job(id)).state, 'listen');
  await world.advance(20_001);
  assert.equal((await world.entries(id, 'polled')).length, 2);
  await world.advance(60_001);
  assert.equal((await world.job(id)).state, 'silent');
});

test('S-60 stay keeps wait and deadlines, and the silence begins anew', async () => {
  const { world, id } = await begin();
  for (let n = 0; n < 5; n += 1) {
    await world.advance(50_000);
    assert.equal(await send(world, { jobId: id }, 'tick'), 'taken');
  }
  await world.advance(59_000);
  assert.equal((await world.job(id)).status, 'waiting_for_event');
  await world.advance(1_500);
  assert.equal((await world.job(id)).state, 'silent');
});

test('S-60 resetBy names what resets the silence, and may cover what nothing maps', async () => {
  const named = await begin(listener({ silence: { after: '1m', resetBy: ['back'] } }));
  await named.world.advance(50_000);
  await send(named.world, { jobId: named.id }, 'tick');
  await named.world.advance(10_500);
  assert.equal((await named.world.job(named.id)).state, 'silent');
  const open = await begin(listener({ silence: { after: '1m', resetBy: 'any' } }));
  await open.world.advance(50_000);
  assert.equal(await send(open.world, { jobId: open.id }, 'whatever'), 'taken');
  await open.world.advance(10_500);
  assert.equal((await open.world.job(open.id)).status, 'waiting_for_event');
  const mapped = await begin();
  assert.equal(await send(mapped.world, { jobId: mapped.id }, 'whatever'), 'signal_not_expected');
});

test('S-32 the total deadline ends the wait whatever comes', async () => {
  const { world, id } = await begin();
  for (let n = 0; n < 15; n += 1) {
    await world.advance(39_000);
    await send(world, { jobId: id }, 'tick');
  }
  await world.advance(30_000);
  assert.equal((await world.job(id)).state, 'late');
});

test('S-32 a wait without silence and deadline is refused', async () => {
  const machine = blueprint({
    name: 'endless',
    version: 1,
    states: {
      single: { start: true, to: ['done'], handle: () => waitFor({ on: { go: 'done' } }) },
      done: { end: true },
    },
  });
  const world = await startWorld({ blueprints: [machine] });
  const [entry] = await world.entries(await world.create('endless'), 'handler_failed');
  assert.match(entry?.reason ?? '', /neither silence nor deadline/);
});

test('S-60 a row may decide by job and signal; one that throws changes nothing and tells its sender', async () => {
  const { world, id } = await begin();
  assert.equal(await send(world, { jobId: id }, 'broken'), 'row_failed');
  const before = await world.job(id);
  assert.equal(before.status, 'waiting_for_event');
  assert.equal(await send(world, { jobId: id }, 'choose', { data: 'odd' }), 'taken');
  assert.equal((await world.job(id)).state, 'odd');
});

test('S-60 repeated refusals stay bounded in the book', async () => {
  const { world, id } = await begin();
  for (let n = 0; n < 100; n += 1) await send(world, { jobId: id }, 'whatever');
  const refused = await world.entries(id, 'signal_refused');
  assert.ok(refused.length <= 20, `${refused.length} entries`);
});

test('S-59 a signal to an ended job is refused with its status', async () => {
  const { world, id } = await begin();
  await send(world, { jobId: id }, 'stop');
  assert.equal(await send(world, { jobId: id }, 'tick'), 'job_already_terminated');
});

test('S-59 the refusal of a signal names those that the job takes, and the one that was meant', async () => {
  const { world, id } = await begin();
  const refusal = async (name: string): Promise<string> => {
    const sent = { client: 'client-1', to: { jobId: id }, name, id: name, data: null };
    const [answer] = await world.engine.signals.send([{ ...sent, actor: 'bot' }]);
    assert(answer?.type === 'refused');
    assert.deepEqual(answer.error.details?.takes, [
      ...['tick', 'back', 'strange', 'told', 'choose', 'broken', 'stop'],
    ]);
    return answer.error.message;
  };
  const takes =
    'The job does not wait for this signal. It takes tick, back, strange, told, choose, broken, stop';
  assert.equal(await refusal('chose'), `${takes}; did you mean choose?`);
  assert.equal(await refusal('something'), takes);
});
