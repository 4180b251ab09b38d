import type { Clock, Log } from 'capataz/server';
import { Calls } from './calls.ts';
import type {
  Activity,
  ActivityQuery,
  ActivityReport,
  ControlRoom,
  Device,
  RobotFile,
  StopOutcome,
  User,
} from './contract.ts';
import { ControlRoomError } from './contract.ts';
import { deploy } from './deploy.ts';
import { discreet } from './discreet.ts';
import { Gate } from './gate.ts';
import { type ListOptions, readList } from './lists.ts';
import { type Credentials, Session } from './session.ts';
import type { Transport } from './transport.ts';
import { activitySchema, deviceSchema, eq, type Filter, robotSchema, userSchema } from './wire.ts';

export interface ControlRoomOptions {
  readonly url: string;
  readonly credentials: Credentials;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly log: Log;
  readonly timeoutMs: number;
  readonly tokenRefreshMs: number;
  readonly maxRequestsPerSecond: number;
  readonly pageSize: number;
  readonly maxPages: number;
  /** Deployments asked about in one call. */
  readonly batchSize: number;
  readonly robots: RobotFilter;
  /** Besides the credentials: what goes out with calls, and is told nowhere. */
  readonly secrets?: readonly string[];
}

export interface RobotFilter {
  /** Only files whose path contains this. */
  readonly path: string | null;
  readonly names: RegExp;
  /** No file whose name contains this, in whatever case. */
  readonly leftOut: string | null;
}

const activityPath = '/v3/activity/list';

/** A Control Room over HTTP. */
export function createControlRoom(options: ControlRoomOptions): ControlRoom {
  const { clock, timeoutMs, log, credentials, secrets = [] } = options;
  const url = options.url.replace(/\/+$/, '');
  const refreshMs = options.tokenRefreshMs;
  const { apiKey, password } = credentials;
  const transport = discreet(options.transport, [apiKey, password, ...secrets]);
  const session = new Session({ ...options, transport, url, refreshMs });
  const gate = new Gate({ clock, perSecond: options.maxRequestsPerSecond });
  const calls = new Calls({ url, session, transport, gate, clock, log, timeoutMs });
  const lists: ListOptions = { ...options, calls };
  return {
    robots: () => readRobots(lists, options.robots),
    devices: () => readDevices(lists),
    users: () => readUsers(lists),
    deploy: (order) => deploy({ calls, clock }, order),
    activitiesOf: (ids) => activitiesOf(lists, ids, options.batchSize),
    activities: (query) => readActivities(lists, query),
    stop: (deploymentId) => stop(lists, deploymentId),
    clockSkewMs: () => calls.skewMs,
    close: async () => {
      await session.logOut();
      await transport.close();
    },
  };
}

async function readRobots(lists: ListOptions, filter: RobotFilter): Promise<RobotFile[]> {
  const isRobot = eq('type', 'application/vnd.aa.taskbot');
  const files = await readList(lists, {
    path: '/v2/repository/workspaces/public/files/list',
    filter:
      filter.path === null
        ? isRobot
        : {
            operator: 'and',
            operands: [{ operator: 'substring', field: 'path', value: filter.path }, isRobot],
          },
    sort: 'desc',
    schema: robotSchema,
    idOf: (file) => file.robotId,
  });
  const leftOut = filter.leftOut?.toLowerCase() ?? null;
  return files.filter(
    ({ name }) =>
      filter.names.test(name) && (leftOut === null || !name.toLowerCase().includes(leftOut)),
  );
}

function readDevices(lists: ListOptions): Promise<Device[]> {
  const path = '/v2/devices/list';
  return readList(lists, { path, schema: deviceSchema, idOf: (device) => device.deviceId });
}

function readUsers(lists: ListOptions): Promise<User[]> {
  const path = '/v2/usermanagement/users/list';
  return readList(lists, { path, schema: userSchema, idOf: (user) => user.userId });
}

async function activitiesOf(
  lists: ListOptions,
  deploymentIds: readonly string[],
  batchSize: number,
): Promise<ActivityReport> {
  const found: Activity[] = [];
  const answered: string[] = [];
  const failures: ActivityReport['failures'][number][] = [];
  for (let from = 0; from < deploymentIds.length; from += batchSize) {
    const batch = deploymentIds.slice(from, from + batchSize);
    const last = failures.at(-1);
    // Each of the other batches would only wait as long and fail as well.
    if (last?.kind === 'unreachable' || last?.kind === 'credentials') {
      failures.push({ ...last, deploymentIds: batch });
      continue;
    }
    try {
      found.push(...(await listActivities(lists, anyOf('deploymentId', batch))));
      answered.push(...batch);
    } catch (error) {
      const kind = error instanceof ControlRoomError ? error.kind : 'unreachable';
      failures.push({ deploymentIds: batch, kind, message: String(error) });
    }
  }
  return { found, answered, failures };
}

async function readActivities(lists: ListOptions, query: ActivityQuery): Promise<Activity[]> {
  const { robotId, deviceId, userId, automationName, statuses, since } = query;
  const operands: Filter[] = [];
  if (robotId !== undefined) operands.push(eq('fileId', robotId));
  if (deviceId !== undefined) operands.push(eq('deviceId', deviceId));
  if (statuses !== undefined) operands.push(anyOf('status', statuses));
  const filter: Filter | undefined =
    operands.length > 1 ? { operator: 'and', operands } : operands[0];
  const found = await listActivities(lists, filter);
  return found.filter(
    (run) =>
      (userId === undefined || run.userId === userId) &&
      (automationName === undefined || run.automationName === automationName) &&
      (since === undefined || run.startedAt === null || run.startedAt >= since),
  );
}

function listActivities(lists: ListOptions, filter: Filter | undefined): Promise<Activity[]> {
  return readList(lists, {
    path: activityPath,
    ...(filter === undefined ? {} : { filter }),
    sort: 'desc',
    schema: activitySchema,
    idOf: (run) => run.activityId,
  });
}

/** An `or` also around a single one, as the Control Room has always been asked. */
function anyOf(field: string, values: readonly string[]): Filter {
  return { operator: 'or', operands: values.map((value) => eq(field, value)) };
}

const ended = /COMPLETED|FAILED|ABORTED|TIMED_OUT/;

async function stop(lists: ListOptions, deploymentId: string): Promise<StopOutcome> {
  const runs = await listActivities(lists, anyOf('deploymentId', [deploymentId]));
  const execution_ids = runs
    .filter(({ status }) => !ended.test(status))
    .map((run) => run.activityId);
  if (execution_ids.length === 0) return { outcome: 'not_running' };
  try {
    // Asked twice, it stops them once: so it may be repeated as a call that reads.
    const answer = await lists.calls.read('/v3/activity/manage', {
      stop_executions: { execution_ids },
    });
    const errors = answer.manage_action_errors;
    if (!Array.isArray(errors) || errors.length === 0) return { outcome: 'asked' };
    return { outcome: 'refused', message: JSON.stringify(errors).slice(0, 500) };
  } catch (error) {
    if (!(error instanceof ControlRoomError) || error.kind !== 'refused') throw error;
    return { outcome: 'refused', message: error.message };
  }
}
