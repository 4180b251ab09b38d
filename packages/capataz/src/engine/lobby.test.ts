import assert from 'node:assert/strict';
import { test } from 'node:test';
import { taskClass } from '../core/requirements.ts';
import type { WorkerRecord } from '../core/worker.ts';
import { Dice } from '../testing/sim/dice.ts';
import { HeldAttempts } from './attempts.ts';
import { registration } from './fixtures.ts';
import { Lobby } from './lobby.ts';
import { Profiles } from './profiles.ts';
import type { Ticket } from './ticket.ts';

const shared = { incarnation: 'i', registeredAt: 0, status: 'READY' } as const;
const asked = taskClass({ client: 'c', skill: 'work', requirements: {}, maxCost: null });
const wake = { taskClass: asked, strategy: 'default' } as const;

function lobbyOf(): Lobby {
  return new Lobby({ held: new HeldAttempts(), random: new Dice(1), profiles: new Profiles() });
}

function ticketOf(worker: WorkerRecord, onLook: () => void = () => undefined): Ticket {
  const room = (): number => {
    onLook();
    return 1;
  };
  return { worker, max: 1, room, waitingSince: 0, missed: false, deliver: () => undefined };
}

function workerOf(id: string, offer: Partial<WorkerRecord['offer']> = {}): WorkerRecord {
  return { ...registration(id, { offer }), ...shared };
}

test('A-29 to find a candidate costs the same among 10 workers and among 10,000', () => {
  const looks = [10, 10_000].map((count) => {
    const lobby = lobbyOf();
    let looked = 0;
    for (let index = 0; index < count; index += 1) {
      // Four kinds of workers, one of which can't do it.
      const kind = index % 4;
      const offer = kind === 0 ? { skills: ['other'] } : { costPerSkill: { work: kind } };
      lobby.park(ticketOf(workerOf(`w${index}`, offer), () => (looked += 1)));
    }
    const [match] = lobby.match([wake], null);
    assert.equal(match?.ticket.worker.id, 'w1', 'the cheapest that waits longest');
    assert.equal(match.claim.choice.candidates, count - Math.ceil(count / 4));
    return looked;
  });
  assert.equal(looks[0], looks[1]);
});

test('a class in which nothing is queued any more is forgotten, and none that was queued meanwhile', () => {
  const lobby = lobbyOf();
  const classOf = (skill: string) => taskClass({ ...asked, skill });
  const isKnown = (skill: string) =>
    lobby.claim(ticketOf(workerOf(skill, { skills: [skill] }))).length > 0;
  lobby.queued([classOf('cancelled'), classOf('there')]);
  const { mark } = lobby;
  lobby.queued([classOf('meanwhile')]);
  lobby.queuedInAll([classOf('there')], mark);
  assert.deepEqual(['cancelled', 'there', 'meanwhile'].map(isKnown), [false, true, true]);
});

test('A-29 a batch of tasks looks at each of those that wait about once', () => {
  const lobby = lobbyOf();
  let looked = 0;
  for (let index = 0; index < 1_000; index += 1)
    lobby.park(ticketOf(workerOf(`w${index}`), () => (looked += 1)));
  const matches = lobby.match(
    Array.from({ length: 1_000 }, () => wake),
    null,
  );
  assert.equal(matches.length, 1_000);
  assert.ok(looked <= 4_000, `looked ${looked} times`);
});

test('A-26 a task that names its worker goes to that one, whoever else offers the same', () => {
  const lobby = lobbyOf();
  for (const id of ['w1', 'w2', 'w3']) lobby.park(ticketOf(workerOf(id)));
  const bound = taskClass({ ...asked, requirements: { worker: 'w2' } });
  const matches = lobby.match(
    [
      { ...wake, taskClass: bound },
      { ...wake, taskClass: bound },
    ],
    null,
  );
  assert.deepEqual(
    matches.map(({ ticket }) => ticket.worker.id),
    ['w2'],
  );
});

test('A-26 a parked poll whose worker changes its offer is found under the new one', () => {
  const lobby = lobbyOf();
  let worker = workerOf('w1', { skills: ['other'] });
  const ticket = { ...ticketOf(worker) };
  const changing: Ticket = Object.defineProperty(ticket, 'worker', { get: () => worker });
  lobby.park(changing);
  assert.deepEqual(lobby.match([wake], null), []);
  worker = workerOf('w1');
  lobby.workerChanged('w1');
  assert.equal(lobby.match([wake], null).length, 1);
  assert.equal(lobby.leave(changing), false, 'a claim is under way');
});
