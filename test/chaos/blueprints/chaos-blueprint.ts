import { blueprint, dispatch, transition } from 'capataz';

/** Two tasks and a handler that awaits, so that a kill can hit each kind of work. */
export default blueprint({
  name: 'chaos',
  version: 1,
  states: {
    first: {
      start: true,
      to: ['between'],
      handle: (job) =>
        dispatch(
          'effect',
          { step: 1, ...(job.input as object) },
          { on: { success: 'between' }, retry: { max: 50, base: '100ms', cap: '1s' } },
        ),
    },
    between: {
      to: ['second'],
      retry: { max: 50, base: '100ms', cap: '1s' },
      run: async () => transition('second'),
    },
    second: {
      to: ['done'],
      handle: (job) =>
        dispatch(
          'effect',
          { step: 2, ...(job.input as object) },
          { on: { success: 'done' }, retry: { max: 50, base: '100ms', cap: '1s' } },
        ),
    },
    done: { end: true },
  },
});
