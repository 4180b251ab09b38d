import { PermanentError, TransientError } from '../../worker/index.ts';
import type { Work } from './moods.ts';

const longestMs = 4_000;
const hangMs = 600_000;

/** The work of the product's own simulation: takes a while, and fails, hangs or kills by mood. */
export const simWork: Work = async ({ attempt, skill, params, signal }, moods) => {
  const { dice, wait } = moods;
  if (skill === 'poison' && dice.chance(moods.dies)) moods.die(`poisoned by ${attempt}`);
  await wait(dice.between(0, longestMs));
  // No worker can do it, so that only the count of its failures ends it.
  if (params.isHopeless === true) throw new TransientError('it can not be done');
  if (dice.chance(moods.hangs)) await wait(hangMs, signal);
  if (dice.chance(moods.throws)) throw new TransientError('a bad mood');
  if (dice.chance(moods.throws / 10)) throw new PermanentError('a very bad mood');
  return { [`step${params.step}`]: attempt };
};
