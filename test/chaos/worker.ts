import { appendFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { WorkerTask } from 'capataz/worker';

/** Its effects are lines of a file, counted outside the product. */
export const skills = {
  effect: async ({ attempt, jobId, params }: WorkerTask) => {
    appendFileSync(String(params.log), `${jobId} ${params.step} ${attempt}\n`);
    await setTimeout(Number(params.ms));
    return { [`step${params.step}`]: attempt };
  },
};
