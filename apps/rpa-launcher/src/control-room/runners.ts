import { hostOf } from '../execution/record.ts';
import type { Device, User } from './contract.ts';

/** A device that can run robots, as a row of Equipos. */
export interface Runner {
  readonly deviceId: number;
  readonly hostName: string;
  readonly userId: number;
  readonly userName: string;
  /** All features of the user, with ", " between. */
  readonly license: string;
  readonly isConnected: boolean;
}

/**
 * Devices with their first default user who has one of the licenses; devices without such a user
 * are none. A host name that stands twice is kept once: connected first, then the newer id.
 */
export function runnersOf(
  devices: readonly Device[],
  users: readonly User[],
  licenses: readonly string[],
): Runner[] {
  const byId = new Map(users.map((user) => [user.userId, user]));
  const runners = devices.flatMap((device) => {
    const user = device.defaultUserIds
      .map((userId) => byId.get(userId))
      .find((candidate) => candidate !== undefined && isLicensed(candidate, licenses));
    return user === undefined ? [] : [runnerOf(device, user)];
  });
  const byHost = new Map<string, Runner>();
  for (const runner of runners.sort(worseFirst)) byHost.set(hostOf(runner.hostName), runner);
  return [...byHost.values()].sort((a, b) => a.deviceId - b.deviceId);
}

function isLicensed(user: User, licenses: readonly string[]): boolean {
  return !user.isDisabled && user.licenses.some((license) => licenses.includes(license));
}

function runnerOf(device: Device, user: User): Runner {
  return {
    deviceId: device.deviceId,
    hostName: device.hostName,
    userId: user.userId,
    userName: user.userName,
    license: user.licenses.join(', '),
    isConnected: device.isConnected,
  };
}

function worseFirst(a: Runner, b: Runner): number {
  return Number(a.isConnected) - Number(b.isConnected) || a.deviceId - b.deviceId;
}
