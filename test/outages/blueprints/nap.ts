import { blueprint, sleep, transition } from 'capataz';
import { delay, systemClock } from '../../../packages/capataz/src/std/clock.ts';

/** A timer, and a handler behind it that may meet the end of its lease. */
export default blueprint({
  name: 'nap',
  version: 1,
  states: {
    nap: { start: true, to: ['wake'], handle: ({ input }) => sleep(String(input), 'wake') },
    wake: {
      to: ['done'],
      run: async () => {
        await delay(systemClock, 20);
        return transition('done');
      },
    },
    done: { end: true },
  },
});
