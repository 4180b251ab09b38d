import { assert } from '../std/assert.ts';
import { systemClock } from '../std/clock.ts';
import { settle } from './virtual-clock.ts';

const longestWaitMs = 60_000;

/**
 * Waits for what nothing announces: turn after turn of the loop, in which sockets and disks get theirs.
 * @throws InternalError after a minute
 */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const endsAt = systemClock.steady() + longestWaitMs;
  while (!(await holds())) {
    assert(systemClock.steady() < endsAt, `waited in vain until ${holds}`);
    await settle();
  }
}
