import type { SchedulesAnswer, ScheduleView } from '../protocol/schedules-api.ts';
import type { Http } from './http.ts';

/** Schedules of the client's jobs. Every method throws CapatazError with the server's code, or UNREACHABLE. */
export interface Schedules {
  list(): Promise<readonly ScheduleView[]>;
  /** No slot starts until it is resumed. @throws SCHEDULE_NOT_FOUND */
  pause(name: string): Promise<ScheduleView>;
  /** One that is paused in the file, too, stays paused. @throws SCHEDULE_NOT_FOUND */
  resume(name: string): Promise<ScheduleView>;
}

const path = '/api/v1/schedules';

export function createSchedules(http: Http): Schedules {
  const verb = (name: string, word: 'pause' | 'resume'): Promise<ScheduleView> =>
    http.json({
      method: 'POST',
      path: `${path}/${encodeURIComponent(name)}/${word}`,
      retry: 'always',
    });
  return {
    list: async () => (await http.json<SchedulesAnswer>({ method: 'GET', path })).schedules,
    pause: (name) => verb(name, 'pause'),
    resume: (name) => verb(name, 'resume'),
  };
}
