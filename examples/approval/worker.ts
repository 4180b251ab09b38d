import type { WorkerTask } from 'capataz/worker';

/** Run with `capataz worker examples/approval/worker.ts`. */
export const skills = {
  test: async ({ params }: WorkerTask) => ({
    part: params.part ?? null,
    passed: 10 + String(params.part).length,
    failed: 0,
  }),
};
