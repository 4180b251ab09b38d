/** What the Control Room's lists say of what it has. */
import type { Item } from './query.ts';
import type { FakeRun } from './runs.ts';
import type { FakeDevice, FakeRobot, FakeUser, Switches } from './world.ts';

export function idView(id: number, { idsAreTexts }: Switches): string | number {
  return idsAreTexts ? String(id) : id;
}

export function robotView(robot: FakeRobot, switches: Switches): Item {
  return {
    id: idView(robot.id, switches),
    parentId: '9',
    name: robot.name,
    path: robot.path,
    description: robot.description ?? '',
    type: 'application/vnd.aa.taskbot',
    folder: false,
    workspaceType: 'PUBLIC',
    botStatus: 'PUBLIC',
  };
}

export function deviceView(
  device: FakeDevice,
  users: readonly FakeUser[],
  switches: Switches,
): Item {
  return {
    id: idView(device.id, switches),
    type: 'BOT_RUNNER',
    hostName: device.hostName,
    nickname: '',
    status: device.status,
    botAgentVersion: '22.60.10',
    defaultUsers: users.map(({ id, username }) => ({ id: idView(id, switches), username })),
  };
}

export function userView(user: FakeUser, switches: Switches): Item {
  return {
    id: idView(user.id, switches),
    username: user.username,
    domain: '',
    licenseFeatures: user.licenses,
    roles: [],
    disabled: user.isDisabled === true,
    deleted: false,
  };
}

export function activityViews(
  run: FakeRun,
  {
    robot,
    device,
  }: { readonly robot?: FakeRobot | undefined; readonly device?: FakeDevice | undefined },
  switches: Switches,
): Item[] {
  const unset = switches.saysEpoch ? '1970-01-01T00:00:00Z' : null;
  const instant = (at: number | null): string | null =>
    at === null ? unset : instantText(at + switches.clockAheadMs, switches.fractionDigits);
  return run.activityIds.map((id) => ({
    id,
    deploymentId: run.deploymentId,
    automationName: run.automationName,
    fileId: idView(run.robotId, switches),
    fileName: robot?.name ?? null,
    filePath: robot?.path ?? null,
    deviceId: idView(run.deviceId, switches),
    deviceName: device?.hostName ?? null,
    userId: idView(run.userId, switches),
    type: 'RUN_NOW',
    startDateTime: instant(run.startedAt),
    endDateTime: instant(run.endedAt),
    status: run.status,
    progress: run.endedAt === null ? 50 : 100,
    message: '',
  }));
}

function instantText(at: number, fractionDigits: number): string {
  const [seconds = '', ms = ''] = new Date(at).toISOString().slice(0, -1).split('.');
  const fraction = ms.padEnd(9, '0').slice(0, fractionDigits);
  return fraction === '' ? `${seconds}Z` : `${seconds}.${fraction}Z`;
}
