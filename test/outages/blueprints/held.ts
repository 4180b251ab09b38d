import { appendFileSync, existsSync } from 'node:fs';
import { blueprint, dispatch, transition } from 'capataz';
import { delay, systemClock } from '../../../packages/capataz/src/std/clock.ts';

/** Runs as long as its test wants it to, and then has a task for a worker. */
export default blueprint({
  name: 'held',
  version: 1,
  states: {
    hold: {
      start: true,
      to: ['effect'],
      run: async ({ id, input, signal }) => {
        const { begun, gate } = input as { readonly begun: string; readonly gate: string };
        appendFileSync(begun, `${id}\n`);
        while (!existsSync(gate) && !signal.aborted) await delay(systemClock, 50, signal);
        return transition('effect');
      },
    },
    effect: {
      to: ['done'],
      handle: ({ input }) =>
        dispatch('effect', { step: 1, ms: 1, ...(input as object) }, { on: { success: 'done' } }),
    },
    done: { end: true },
  },
});
