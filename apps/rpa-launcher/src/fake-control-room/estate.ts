import type { FakeDevice, FakeRobot, FakeUser, FakeWorld } from './world.ts';

/** What the fake Control Room has, by id. Change it as an administrator would. */
export class Estate {
  readonly users: Map<number, FakeUser>;
  readonly devices: Map<number, FakeDevice>;
  readonly robots: Map<number, FakeRobot>;

  constructor({ users, devices, robots }: FakeWorld) {
    this.users = new Map(users.map((user) => [user.id, user]));
    this.devices = new Map(devices.map((device) => [device.id, device]));
    this.robots = new Map(robots.map((robot) => [robot.id, robot]));
  }
}
