import type { Estate } from './estate.ts';
import type { FakeCallback } from './runs.ts';
import type { FakeDevice, FakeRobot, FakeUser, Switches } from './world.ts';

/** A deploy call that can be carried out. */
export interface Deployment {
  readonly robot: FakeRobot;
  readonly user: FakeUser;
  readonly device: FakeDevice;
  readonly automationName: string | null;
  readonly input: unknown;
  readonly callback: FakeCallback | null;
}

export interface Refused {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

export interface Known {
  readonly estate: Estate;
  readonly switches: Switches;
}

type Fields = Readonly<Record<string, unknown>>;

const unattended = ['RUNTIME', 'ATTENDEDRUNTIME'];

/** What a deploy call is about, as far as it says. */
export function namedIn(body: Fields): { readonly robotId: number; readonly userId: number } {
  const request = fieldsOf(body.unattendedRequest);
  const users = request?.runAsUserIds;
  return {
    robotId: Number(body.botId),
    userId: Number(Array.isArray(users) ? users[0] : Number.NaN),
  };
}

/** The checks of the Control Room, in its order. */
export function deploymentOf(body: Fields, known: Known): Deployment | Refused {
  const { robotId, userId } = namedIn(body);
  const robot = known.estate.robots.get(robotId);
  if (robot === undefined) return refused(400, `Bot with id ${robotId} does not exist`);
  const user = known.estate.users.get(userId);
  const device = known.estate.devices.get(user?.deviceId ?? Number.NaN);
  if (user === undefined || device === undefined)
    return refused(400, 'None of the user(s) provided have default device(s)');
  if (user.isDisabled === true || !user.licenses.some((license) => unattended.includes(license)))
    return refused(400, `User ${user.username} does not have a valid unattended license`);
  const problem = inputProblem(robot, body.botInput);
  if (problem !== null) return refused(400, problem);
  const callback = callbackOf(body.callbackInfo);
  const { callbackAllowList } = known.switches;
  if (
    callback !== null &&
    callbackAllowList?.some((base) => callback.url.startsWith(base)) === false
  )
    return refused(400, 'The callback URL is not on the list of allowed URLs');
  return (
    deviceProblem(robot, device, known.switches) ?? {
      robot,
      user,
      device,
      automationName: typeof body.automationName === 'string' ? body.automationName : null,
      input: body.botInput ?? null,
      callback,
    }
  );
}

function deviceProblem(
  robot: FakeRobot,
  device: FakeDevice,
  { offline }: Switches,
): Refused | null {
  if (robot.hasNoTargets === true) return refused(412, 'No compatible targets found in automation');
  if (device.status === 'CONNECTED' || offline === 'queue') return null;
  return offline === 'refuse_412'
    ? refused(412, `Device ${device.hostName} is offline`)
    : refused(400, `The following devices are not active: ${device.hostName}`);
}

/** Each value stands under its type in lower case, but for a date, which is a text. */
function inputProblem({ inputs }: FakeRobot, given: unknown): string | null {
  for (const [name, value] of Object.entries(fieldsOf(given) ?? {})) {
    const fields = fieldsOf(value);
    const type = String(fields?.type);
    const key = type === 'DATETIME' ? 'string' : type.toLowerCase();
    if (fields === null || !(key in fields)) return `Input ${name} has no value of type ${type}`;
    if (inputs !== undefined && inputs[name] !== type)
      return `The bot has no input variable ${name} of type ${type}`;
  }
  return null;
}

function callbackOf(given: unknown): FakeCallback | null {
  const fields = fieldsOf(given);
  if (typeof fields?.url !== 'string') return null;
  const headers = Object.entries(fieldsOf(fields.headers) ?? {}).map(([name, value]) => [
    name,
    String(value),
  ]);
  return { url: fields.url, headers: Object.fromEntries(headers) };
}

function refused(status: number, message: string): Refused {
  return { status, code: status === 412 ? 'automation.precondition' : 'json.validation', message };
}

function fieldsOf(value: unknown): Fields | null {
  // Checked to be an object, whose fields are unknown.
  return typeof value === 'object' && value !== null ? (value as Fields) : null;
}
