import {
  type ControlRoom,
  ControlRoomError,
  type ControlRoomErrorKind,
  type DeployOutcome,
} from '../control-room/contract.ts';
import type { Alerts } from './contract.ts';

const key = 'control-room';

/** Beyond this, times of ours and of the Control Room can't be held against each other. */
const mostSkewMs = 5_000;

/**
 * The same Control Room; that it is down, rejects our credentials or has another time is alerted by
 * what calls come to.
 */
export function watchControlRoom(controlRoom: ControlRoom, alerts: Alerts): ControlRoom {
  const watch = watcher(alerts, () => controlRoom.clockSkewMs());
  return {
    robots: () => watch.thrown(controlRoom.robots()),
    devices: () => watch.thrown(controlRoom.devices()),
    users: () => watch.thrown(controlRoom.users()),
    activities: (query) => watch.thrown(controlRoom.activities(query)),
    stop: (deploymentId) => watch.thrown(controlRoom.stop(deploymentId)),
    deploy: async (order) => {
      const outcome = await controlRoom.deploy(order);
      watch.saw(seenIn(outcome), 'message' in outcome ? outcome.message : '');
      return outcome;
    },
    activitiesOf: async (deploymentIds) => {
      const report = await controlRoom.activitiesOf(deploymentIds);
      for (const { kind, message } of report.failures) watch.saw(kind, message);
      if (report.answered.length > 0) watch.saw('well', '');
      return report;
    },
    clockSkewMs: () => controlRoom.clockSkewMs(),
    close: () => controlRoom.close(),
  };
}

/** What a call tells of the Control Room; null: nothing either way. */
type Seen = 'well' | ControlRoomErrorKind | null;

function seenIn(outcome: DeployOutcome): Seen {
  switch (outcome.outcome) {
    case 'accepted':
      return 'well';
    case 'refused':
      return outcome.status === 429 ? null : 'well';
    case 'unauthorized':
      return 'credentials';
    case 'unsent':
      return 'unreachable';
    case 'ambiguous':
      // A 500 is often about the one robot that it answers for.
      return outcome.status === null || outcome.status > 500 ? 'unavailable' : null;
  }
}

function watcher(alerts: Alerts, skewMs: () => number | null) {
  // What is said of it does not throw, and nobody waits for its mails.
  function saw(seen: Seen, message: string): void {
    switch (seen) {
      case null:
        return;
      case 'credentials':
        void alerts.clear('control_room_down', key);
        void alerts.raise({ kind: 'credentials_rejected', key, message });
        return;
      case 'unreachable':
      case 'unavailable':
        void alerts.raise({ kind: 'control_room_down', key, message });
        return;
      case 'refused':
      case 'well':
        void alerts.clear('control_room_down', key);
        void alerts.clear('credentials_rejected', key);
        sawTime(skewMs() ?? 0);
    }
  }
  function sawTime(aheadMs: number): void {
    if (Math.abs(aheadMs) <= mostSkewMs) return void alerts.clear('clock_skew', 'clock');
    const message = `The Control Room's clock is ${Math.round(aheadMs / 1_000)} s ahead of ours.`;
    void alerts.raise({ kind: 'clock_skew', key: 'clock', message });
  }
  async function thrown<T>(call: Promise<T>): Promise<T> {
    try {
      const value = await call;
      saw('well', '');
      return value;
    } catch (error) {
      if (error instanceof ControlRoomError) saw(error.kind, error.message);
      throw error;
    }
  }
  return { saw, thrown };
}
