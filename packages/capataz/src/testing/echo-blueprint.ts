import { dispatch, finish } from '../core/action.ts';
import { type Blueprint, blueprint } from '../core/blueprint.ts';
import { isJsonObject } from '../std/json.ts';

/** Hands its input to a worker's skill `echo` and finishes with what came back. */
export const echoBlueprint: Blueprint = blueprint({
  name: 'echo',
  version: 1,
  states: {
    ask: {
      start: true,
      to: ['done', 'late'],
      handle: (job) =>
        dispatch('echo', isJsonObject(job.input) ? job.input : {}, {
          on: { success: 'done', timeout: 'late' },
        }),
    },
    done: { end: true, handle: (job) => finish(job.data) },
    late: { end: 'failed' },
  },
});
