import type { Environment } from '../config/environment.ts';
import type { Clock } from '../std/clock.ts';
import { MovableClock } from '../std/movable-clock.ts';

/**
 * The one switch of tests that would have to wait for days: with `CAPATAZ_TEST_CLOCK=1` a server's
 * clock is moved by `POST /_test/clock`. It is no setting, is in no reference, and only a server on
 * loopback starts with it.
 */
export function clockOf(environment: Environment, clock: Clock): Clock {
  return environment.CAPATAZ_TEST_CLOCK === '1' ? new MovableClock(clock) : clock;
}
