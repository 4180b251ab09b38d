import {
  approval,
  blueprint,
  dispatch,
  finish,
  type HandlerJob,
  type JsonValue,
  parallel,
  transition,
} from 'capataz';
import { z } from 'zod';

/** Every part is tested side by side, then somebody decides; who is silent is passed over. */
export default blueprint({
  name: 'release',
  version: 1,
  input: z.object({ parts: z.array(z.string()).min(1) }),
  states: {
    test: {
      start: true,
      fanOut: true,
      to: ['tested'],
      handle: (job) =>
        parallel(
          job.input.parts.map((part) => dispatch('test', { part }, { on: { success: 'tested' } })),
        ),
    },
    tested: {
      aggregate: true,
      to: ['editor'],
      handle: (job) => {
        job.data.findings = Object.values(job.results ?? {}).map(({ data }) => data);
        return transition('editor');
      },
    },
    editor: {
      to: ['publish', 'withdrawn', 'chief'],
      handle: (job) =>
        approval({
          message: 'Publish the release?',
          show: findings(job),
          deadline: '3s',
          on: { approved: 'publish', rejected: 'withdrawn', timeout: 'chief' },
        }),
    },
    chief: {
      to: ['publish', 'withdrawn'],
      handle: (job) =>
        approval({
          message: 'The editor is silent. Publish the release?',
          show: findings(job),
          deadline: '1d',
          on: { approved: 'publish', rejected: 'withdrawn', timeout: 'withdrawn' },
        }),
    },
    publish: { end: true, handle: (job) => finish({ by: job.answer?.data ?? null }) },
    withdrawn: { end: 'failed' },
  },
});

function findings(job: Pick<HandlerJob, 'data'>): JsonValue {
  return job.data.findings ?? [];
}
