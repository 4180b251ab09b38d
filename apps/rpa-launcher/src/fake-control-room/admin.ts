import type { FakeControlRoom } from './fake-control-room.ts';
import type { DeviceStatus, Endpoint, FakeRobot, FakeUser, Fault, Switches } from './world.ts';
import { endpoints } from './world.ts';

export interface AdminCall {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

export interface AdminAnswer {
  readonly status: number;
  readonly body: unknown;
}

/**
 * What a test asks of a fake in another process: `GET /_fake/runs`, `/_fake/calls`, `/_fake/counts`,
 * `/_fake/callbacks`; `POST /_fake/switches`, `/_fake/faults`, `/_fake/robots`, `/_fake/users`,
 * `/_fake/device-status`, `/_fake/end-sessions`.
 */
export function adminAnswer(fake: FakeControlRoom, { method, path, body }: AdminCall): AdminAnswer {
  const name = path.slice('/_fake/'.length);
  if (method === 'GET') return looked(fake, name);
  try {
    return change(fake, name, body) ? { status: 200, body: {} } : unknown(path);
  } catch (error) {
    return {
      status: 400,
      body: { message: error instanceof Error ? error.message : String(error) },
    };
  }
}

function unknown(path: string): AdminAnswer {
  return { status: 404, body: { message: `there is no ${path}` } };
}

function looked(fake: FakeControlRoom, name: string): AdminAnswer {
  switch (name) {
    case 'runs':
      return { status: 200, body: fake.runs };
    case 'calls':
      return { status: 200, body: fake.calls.seen() };
    case 'callbacks':
      return { status: 200, body: fake.sentCallbacks };
    case 'counts':
      return {
        status: 200,
        body: Object.fromEntries(endpoints.map((of) => [of, countsOf(fake, of)])),
      };
    default:
      return unknown(`/_fake/${name}`);
  }
}

function countsOf({ calls }: FakeControlRoom, endpoint: Endpoint) {
  return { calls: calls.count(endpoint), mostAtOnce: calls.most(endpoint) };
}

/** Bodies are of the types in world.ts; a test that gets them wrong sees it at once. */
function change(fake: FakeControlRoom, name: string, body: string): boolean {
  const given: unknown = body === '' ? {} : JSON.parse(body);
  switch (name) {
    case 'switches':
      fake.set(given as Partial<Switches>);
      return true;
    case 'faults': {
      const fault = given as Fault;
      if (!endpoints.includes(fault.endpoint))
        throw new Error(`endpoint: must be one of ${endpoints.join(', ')}`);
      fake.faults.add(fault);
      return true;
    }
    case 'robots': {
      const robot = given as FakeRobot;
      fake.estate.robots.set(robot.id, robot);
      return true;
    }
    case 'users': {
      const user = given as FakeUser;
      fake.estate.users.set(user.id, user);
      return true;
    }
    case 'device-status': {
      const { id, status } = given as { id: number; status: DeviceStatus };
      fake.setDeviceStatus(id, status);
      return true;
    }
    case 'end-sessions':
      fake.endSessions();
      return true;
    default:
      return false;
  }
}
