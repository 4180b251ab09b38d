import {
  blueprint,
  dispatch,
  type JsonObject,
  type JsonValue,
  parallel,
  transition,
} from 'capataz';
import { z } from 'zod';

/** What a worker says of one format is `{ compressed }`. */
function sizeIn(data: JsonValue): number {
  return Number((data as JsonObject).compressed);
}

/**
 * One job a file: first what a reader sees, then what three archivers would make of it, side by side;
 * the smallest counts.
 */
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
      to: ['smallest', 'unreadable'],
      handle: (job) =>
        parallel(
          ['brotli', 'gzip', 'zstd'].map((format) =>
            dispatch(
              'compress',
              { ...job.input, format },
              { on: { success: 'smallest', unreadable: 'unreadable' }, resultTimeout: '2m' },
            ),
          ),
        ),
    },
    smallest: {
      aggregate: true,
      to: ['text'],
      handle: (job) => {
        const sizes = Object.values(job.results ?? {}).map(({ data }) => sizeIn(data));
        job.data.compressed = Math.min(...sizes);
        return transition('text');
      },
    },
    text: { end: true },
    empty: { end: true },
    binary: { end: true },
    unreadable: { end: true },
  },
});
