import { blueprint, dispatch } from 'capataz';
import { z } from 'zod';

/** One job a file: first what a reader sees, then what an archive would make of it. */
export default blueprint({
  name: 'digest',
  version: 1,
  input: z.object({ file: z.string(), pace_ms: z.number().default(0) }),
  states: {
    measure: {
      start: true,
      to: ['compress', 'empty', 'binary', 'unreadable'],
      handle: (job) =>
        dispatch('measure', job.input, {
          on: { success: 'compress', empty: 'empty', binary: 'binary', unreadable: 'unreadable' },
          resultTimeout: '2m',
        }),
    },
    compress: {
      to: ['text', 'unreadable'],
      handle: (job) =>
        dispatch('compress', job.input, {
          on: { success: 'text', unreadable: 'unreadable' },
          resultTimeout: '2m',
        }),
    },
    text: { end: true },
    empty: { end: true },
    binary: { end: true },
    unreadable: { end: true },
  },
});
