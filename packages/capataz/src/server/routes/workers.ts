import type { ServerContext } from '../context.ts';
import { cancelDrainAnswer, drainAnswer, workersAnswer } from '../docs/client-schemas.ts';
import { ok, param, type Route } from '../route.ts';
import { workerView } from '../views.ts';
import { clientOf } from './client-of.ts';

/** Workers as clients see them. */
export function workerListRoutes({ engine, log }: ServerContext): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/workers',
      area: 'client',
      operation: {
        id: 'listWorkers',
        summary: 'All registered workers',
        answers: { 200: { description: 'All', body: workersAnswer } },
      },
      handle: async () => ok({ workers: (await engine.workers.list()).map(workerView) }),
    },
    {
      method: 'POST',
      path: '/api/v1/workers/{id}/drain',
      area: 'client',
      operation: {
        id: 'drainWorker',
        summary: 'Gives a worker no further tasks; what it holds goes on',
        params: { id: "The worker's id." },
        answers: { 200: { description: 'It drains', body: drainAnswer } },
        errors: ['WORKER_NOT_FOUND', 'INVALID_WORKER_STATE_TRANSITION'],
      },
      handle: async (call) => {
        const worker = param(call.request, 'id');
        await engine.workers.drain(worker);
        log.info('a client drains a worker', { worker, client: clientOf(call).name });
        return ok({ status: 'draining' });
      },
    },
    {
      method: 'POST',
      path: '/api/v1/workers/{id}/drain/cancel',
      area: 'client',
      operation: {
        id: 'cancelDrain',
        summary: 'Calls a drain off: the worker takes tasks again',
        params: { id: "The worker's id." },
        answers: { 200: { description: 'It takes tasks', body: cancelDrainAnswer } },
        errors: ['WORKER_NOT_FOUND', 'INVALID_WORKER_STATE_TRANSITION'],
      },
      handle: async (call) => {
        const worker = param(call.request, 'id');
        const status = await engine.workers.cancelDrain(worker);
        log.info('a client calls the drain of a worker off', {
          worker,
          client: clientOf(call).name,
        });
        return ok({ status: status.toLowerCase() });
      },
    },
  ];
}
