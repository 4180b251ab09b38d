import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finish } from '../core/action.ts';
import { type Blueprint, blueprint } from '../core/blueprint.ts';
import type { ApprovalWait } from '../core/job.ts';
import { type ApprovalOptions, approval, stay } from '../core/wait-actions.ts';
import { CapatazError } from '../protocol/errors.ts';
import { startWorld, type World } from './fixtures.ts';
import type { Decision } from './ports.ts';

type States = 'done' | 'refused' | 'late' | 'boss';

function asking(options: Partial<ApprovalOptions<States>> = {}): Blueprint {
  return blueprint({
    name: 'asking',
    version: 1,
    states: {
      ask: {
        start: true,
        to: ['done', 'refused', 'late', 'boss'],
        on: { note: stay((data, { data: text }) => (data.note = text)) },
        handle: () =>
          approval<States>({
            message: 'shall it?',
            show: { plan: 1 },
            on: { approved: 'done', rejected: 'refused', timeout: 'late' },
            ...options,
          }),
      },
      boss: {
        to: ['done', 'refused'],
        handle: () =>
          approval({ message: 'shall it, boss?', on: { approved: 'done', rejected: 'refused' } }),
      },
      late: { end: 'failed' },
      refused: { end: true },
      done: { end: true, handle: (job) => finish(structuredClone(job.answer?.data ?? null)) },
    },
  });
}

async function begin(options: Partial<ApprovalOptions<States>> = {}) {
  const world = await startWorld({ blueprints: [asking(options)] });
  const id = await world.create('asking');
  return { world, id, wait: await waitOf(world, id) };
}

async function waitOf(world: World, id: string): Promise<ApprovalWait> {
  const { wait } = await world.job(id);
  assert(wait?.type === 'approval', 'the job waits for a person');
  return wait;
}

function decision(wait: ApprovalWait, fields: Partial<Decision> = {}): Decision {
  return {
    decision: 'approved',
    wait: wait.id,
    hash: wait.hash,
    revision: null,
    actor: 'ana',
    comment: 'fine',
    data: null,
    ...fields,
  };
}

async function refusalOf(answer: Promise<unknown>): Promise<unknown> {
  const error = await answer.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  assert(error instanceof CapatazError, 'it was taken');
  return error.details?.reason ?? error.code;
}

test('A-15 a job waits for a person; approver and comment stand in the book and reach the state', async () => {
  const { world, id, wait } = await begin();
  assert.equal((await world.job(id)).status, 'waiting_for_human');
  await world.advance(3_600_000);
  const { job, repeated } = await world.engine.signals.decide(id, decision(wait));
  assert.deepEqual([job.status, job.state, repeated], ['finished', 'done', false]);
  assert.deepEqual(job.result, { approver: 'ana', comment: 'fine', data: null });
  const [entry] = await world.entries(id, 'approval_decided');
  assert.deepEqual([entry?.actor, entry?.reason], ['ana', 'approved']);
});

test('A-15 the first valid decision wins, the same one again is harmless, another one is refused', async () => {
  const { world, id, wait } = await begin();
  const { signals } = world.engine;
  const both = await Promise.allSettled([
    signals.decide(id, decision(wait)),
    signals.decide(id, decision(wait, { decision: 'rejected', actor: 'eva' })),
  ]);
  assert.deepEqual(
    both.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
  assert.equal((await world.job(id)).state, 'done');
  assert.equal((await signals.decide(id, decision(wait))).repeated, true);
  assert.equal((await world.entries(id, 'approval_decided')).length, 1);
});

test('S-34 where content is shown a decision names its hash; of other content it is outdated', async () => {
  const { world, id, wait } = await begin();
  const { signals } = world.engine;
  for (const [fields, reason] of [
    [{ hash: null }, 'hash_missing'],
    [{ hash: null, wait: null }, 'hash_missing'],
    [{ hash: 'another' }, 'decision_outdated'],
    [{ wait: 'another' }, 'decision_outdated'],
    [{ wait: 'another', hash: null }, 'decision_outdated'],
  ] as const) {
    const refused = signals.decide(id, decision(wait, fields));
    assert.equal(await refusalOf(refused), reason);
  }
  assert.equal((await world.job(id)).status, 'waiting_for_human');
  assert.equal((await world.entries(id, 'signal_refused')).length, 5);
});

test('S-34 a mere message may be decided on without a hash', async () => {
  const world = await startWorld({
    blueprints: [
      blueprint({
        name: 'plain',
        version: 1,
        states: {
          ask: {
            start: true,
            to: ['done'],
            handle: () => approval({ message: 'go?', on: { approved: 'done' } }),
          },
          done: { end: true },
        },
      }),
    ],
  });
  const id = await world.create('plain');
  const wait = await waitOf(world, id);
  await world.engine.signals.decide(id, decision(wait, { hash: null, wait: null }));
  assert.equal((await world.job(id)).state, 'done');
});

test('S-34 the hash is the same for equal content, whatever the order of its keys', async () => {
  const one = await begin({ show: { a: 1, b: 2 } });
  const other = await begin({ show: { b: 2, a: 1 } });
  assert.equal(one.wait.hash, other.wait.hash);
  assert.notEqual(one.wait.hash, (await begin({ show: { a: 1, b: 3 } })).wait.hash);
});

test('S-68 a revision may stand for the hash, and signals may end the wait', async () => {
  const { world, id, wait } = await begin({ revision: 'plan-7', signals: { withdraw: 'refused' } });
  const { signals } = world.engine;
  const wrong = decision(wait, { hash: null, revision: 'plan-6' });
  assert.equal(await refusalOf(signals.decide(id, wrong)), 'decision_outdated');
  const other = await world.create('asking');
  await signals.decide(id, decision(wait, { hash: null, revision: 'plan-7' }));
  assert.equal((await world.job(id)).state, 'done');
  const to = { jobId: other };
  const sent = { client: 'client-1', to, name: 'withdraw', id: 's1', data: null, actor: 'bot' };
  assert.deepEqual(
    (await signals.send([sent])).map(({ type }) => type),
    ['taken'],
  );
  assert.equal((await world.job(other)).state, 'refused');
});

test('A-15 B-046 the deadline ends the wait once, however long it is', async () => {
  const { world, id, wait } = await begin({ deadline: '30d' });
  // It passes while no server runs: the deadline lives in the store.
  world.kill();
  await world.advance(30 * 86_400_000 - 5_000);
  await world.boot();
  await world.advance(1_000);
  assert.equal((await world.job(id)).status, 'waiting_for_human');
  await world.advance(5_000);
  assert.deepEqual([(await world.job(id)).status, (await world.job(id)).state], ['failed', 'late']);
  assert.equal((await world.entries(id, 'wait_timed_out')).length, 1);
  const late = world.engine.signals.decide(id, decision(wait));
  assert.equal(await refusalOf(late), 'nothing_to_decide');
});

test('A-15 escalation is marked once and the wait goes on, or somebody else is asked', async () => {
  const marked = await begin({ escalateAfter: '1h' });
  await marked.world.advance(3 * 3_600_000);
  assert.equal((await waitOf(marked.world, marked.id)).escalated, true);
  assert.equal((await marked.world.entries(marked.id, 'approval_escalated')).length, 1);
  const on = { approved: 'done', rejected: 'refused', escalated: 'boss' } as const;
  const handed = await begin({ escalateAfter: '1h', on });
  await handed.world.advance(3_600_000 + 1_000);
  assert.equal((await handed.world.job(handed.id)).state, 'boss');
  assert.equal(
    await refusalOf(handed.world.engine.signals.decide(handed.id, decision(handed.wait))),
    'decision_outdated',
  );
});

test('A-15 an unknown decision, and one of the engine’s own words, are refused', async () => {
  const { world, id, wait } = await begin();
  for (const word of ['perhaps', 'timeout', 'escalated', 'constructor']) {
    const refused = world.engine.signals.decide(id, decision(wait, { decision: word }));
    assert.equal(await refusalOf(refused), 'decision_unknown', word);
  }
});

test('B-034 a decision given the moment it is asked for is taken or refused, never lost: 500 rounds', async () => {
  const world = await startWorld({ blueprints: [asking()] });
  for (let round = 0; round < 500; round += 1) {
    const id = await world.create('asking');
    const { job } = await world.engine.signals.decide(id, decision(await waitOf(world, id)));
    assert.equal(job.status, 'finished');
  }
});

test('A-15 a decision survives a restart before and after it', async () => {
  const { world, id, wait } = await begin({ deadline: '1h' });
  await world.restart();
  await world.engine.signals.decide(id, decision(wait));
  await world.restart();
  assert.equal((await world.job(id)).state, 'done');
  assert.equal((await world.engine.signals.decide(id, decision(wait))).repeated, true);
});
