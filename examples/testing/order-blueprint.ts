import { blueprint, dispatch } from 'capataz';

/** An order is charged, then shipped. */
export default blueprint({
  name: 'order',
  version: 1,
  states: {
    charge: {
      start: true,
      to: ['ship'],
      handle: (job) => dispatch('charge', { order: job.id }, { on: { success: 'ship' } }),
    },
    ship: {
      to: ['done'],
      handle: (job) => dispatch('ship', { order: job.id }, { on: { success: 'done' } }),
    },
    done: { end: true },
  },
});
