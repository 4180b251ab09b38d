import { appendFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { WorkerTask } from 'capataz/worker';

export const skills = {
  noop: () => ({ started: performance.timeOrigin + performance.now() }),
  counted: async ({ params }: WorkerTask) => {
    const log = String(params.log);
    appendFileSync(log, `start ${params.job}\n`);
    await setTimeout(Number(params.ms));
    appendFileSync(log, `end ${params.job}\n`);
    return {};
  },
};
