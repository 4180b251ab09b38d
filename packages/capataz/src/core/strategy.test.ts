import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Offer } from './requirements.ts';
import { type Candidate, pick } from './strategy.ts';

function candidate(worker: string, fields: Partial<Offer>, waitingSince = 0): Candidate {
  const offer: Offer = {
    worker,
    skills: ['echo'],
    hotSkills: [],
    devices: [],
    properties: {},
    artifacts: [],
    software: {},
    extra: {},
    costPerSkill: {},
    ...fields,
  };
  return { offer, load: 0, waitingSince };
}

const warm = candidate('warm', { hotSkills: ['echo'], costPerSkill: { echo: 9 } });
const cheap = candidate('cheap', { costPerSkill: { echo: 1 } });
const dear = candidate('dear', { costPerSkill: { echo: 5 } });
const patient = candidate('patient', {}, 1);
const late = candidate('late', {}, 2);

function winner(...candidates: Candidate[]): string | undefined {
  const forward = pick('default', 'echo', candidates)?.candidate.offer.worker;
  const backward = pick('default', 'echo', candidates.toReversed())?.candidate.offer.worker;
  assert.equal(forward, backward, 'the order of the candidates must not matter');
  return forward;
}

test('the default strategy takes the warm one, then the cheapest, then who waits longest', () => {
  assert.equal(winner(dear, warm, cheap, patient), 'warm');
  assert.equal(winner(dear, cheap, patient), 'cheap');
  assert.equal(winner(patient, dear), 'dear', 'an unknown cost is the dearest');
  assert.equal(winner(late, patient), 'patient');
});

test('a worker is warm only for the skill that is hot there', () => {
  const other = candidate('other', { hotSkills: ['draw'], costPerSkill: { echo: 9 } });
  assert.equal(winner(other, cheap), 'cheap');
});

test('the inputs of the choice come with it', () => {
  assert.deepEqual(pick('default', 'echo', [warm, cheap])?.choice, {
    strategy: 'default',
    candidates: 2,
    warm: true,
    cost: 9,
  });
  assert.deepEqual(pick('default', 'echo', [patient])?.choice.cost, null);
  assert.equal(pick('default', 'echo', []), null);
});
