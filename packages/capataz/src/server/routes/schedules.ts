import type { Log } from '../../std/log.ts';
import type { SchedulesPort, ServerContext } from '../context.ts';
import { schedulesAnswer, scheduleView } from '../docs/schedule-schemas.ts';
import { ok, param, type Route } from '../route.ts';
import { clientOf } from './client-of.ts';

/** The schedules whose jobs are a client's. */
export function scheduleRoutes({ schedules, log }: ServerContext): Route[] {
  if (schedules === null) return [];
  return [
    {
      method: 'GET',
      path: '/api/v1/schedules',
      area: 'client',
      operation: {
        id: 'listSchedules',
        summary:
          'The schedules of this client’s jobs: next starts, and what became of the last slots',
        answers: { 200: { description: 'All, in the order of the file', body: schedulesAnswer } },
      },
      handle: async (call) => ok({ schedules: await schedules.list(clientOf(call).name) }),
    },
    verbRoute(schedules, log, {
      verb: 'pause',
      summary: 'Starts no slot any more until it is resumed, on any instance',
      done: 'It is paused',
    }),
    verbRoute(schedules, log, {
      verb: 'resume',
      summary: 'Starts slots again; `catch_up` decides about those that came in the pause',
      done: 'It is resumed, unless it is paused in the file, too',
    }),
  ];
}

interface Verb {
  readonly verb: 'pause' | 'resume';
  readonly summary: string;
  readonly done: string;
}

function verbRoute(schedules: SchedulesPort, log: Log, { verb, summary, done }: Verb): Route {
  return {
    method: 'POST',
    path: `/api/v1/schedules/{name}/${verb}`,
    area: 'client',
    operation: {
      id: `${verb}Schedule`,
      summary,
      params: { name: 'As in the file.' },
      answers: { 200: { description: done, body: scheduleView } },
      errors: ['SCHEDULE_NOT_FOUND'],
    },
    handle: async (call) => {
      const name = param(call.request, 'name');
      const client = clientOf(call).name;
      const schedule = await schedules[verb](name, client);
      log.info(`a client asked to ${verb} a schedule`, { schedule: name, client });
      return ok(schedule);
    },
  };
}
