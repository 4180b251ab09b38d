import { InvalidInputError, type WorkerTask } from 'capataz/worker';

/** Run with `node examples/compose/main.ts worker examples/compose/worker.ts`. */
export const skills = {
  weigh: async ({ params }: WorkerTask) => {
    const weight = Number(params.weight);
    if (!(weight > 0)) throw new InvalidInputError(`nothing weighs ${params.weight} kg`);
    return { weight };
  },
  inspect: async (task: WorkerTask) => {
    const label = await task.files.download('label.txt');
    return { label };
  },
};
