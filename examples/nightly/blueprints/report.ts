import { blueprint, finish } from 'capataz';

/** What it reports about is in its attributes: the slot that it was started for. */
export default blueprint({
  name: 'report',
  version: 1,
  states: {
    write: { start: true, end: true, handle: (job) => finish({ of: job.id }) },
  },
});
