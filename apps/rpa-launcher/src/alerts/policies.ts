import type { LauncherSettings } from '../config/settings.ts';
import type { AlertKind, AlertPolicy } from './contract.ts';

type Policies = Readonly<Record<AlertKind, AlertPolicy>>;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

const checkRunner = 'Check in the Control Room that the Bot Runner is connected and not locked.';
const checkAudit = 'Look at the audit log and the history of the run in the Control Room.';

/** When which kind is mailed, and what the mail says. */
export function policiesOf({
  deviceFailureThreshold,
  alertRepeatMs,
}: Pick<LauncherSettings, 'deviceFailureThreshold' | 'alertRepeatMs'>): Policies {
  return {
    ...deviceAlerts(deviceFailureThreshold, alertRepeatMs),
    ...robotAlerts,
    ...systemAlerts(alertRepeatMs),
  };
}

function deviceAlerts(threshold: number, repeatMs: number) {
  return {
    bad_request: {
      level: 'ALTO',
      scope: 'EQUIPO',
      nature: 'PERMANENTE',
      title: 'Deployment refused with 400',
      // The mark of a device ends with a success there, or after a day (S-88).
      repeatMs: dayMs,
      actions: [
        'Check inputs, packages, license and permissions of the robot and its run-as user.',
        'Then restore the assignment: `capataz-rpa restore-assignment`.',
      ],
    },
    device_unavailable: {
      level: 'ALTO',
      scope: 'EQUIPO',
      nature: 'UMBRAL',
      title: 'Device refuses deployments with 412',
      threshold,
      repeatMs,
      tellsRecovery: true,
      actions: [
        checkRunner,
        'Check that the user of the device has a license ATTENDEDRUNTIME or RUNTIME.',
        'Check that nothing else runs on it.',
      ],
    },
    user_without_device: {
      level: 'ALTO',
      scope: 'EQUIPO',
      nature: 'PERMANENTE',
      title: 'Run-as user without default device',
      repeatMs: hourMs,
      tellsRecovery: true,
      actions: ['Give the user a default device in the Control Room. Assignments are kept.'],
    },
    runner_session: {
      level: 'ALTO',
      scope: 'EQUIPO',
      nature: 'PERMANENTE',
      title: 'Session trouble on the runner',
      repeatMs: dayMs,
      actions: [
        'Log in once on the runner with the run-as user, or end the other session.',
        'Then restore the assignment: `capataz-rpa restore-assignment`.',
      ],
    },
    deployment_unresolved: {
      level: 'ALTO',
      scope: 'EQUIPO',
      nature: 'TRANSITORIO',
      title: 'Nobody knows whether a robot was deployed',
      repeatMs: dayMs,
      tellsRecovery: true,
      actions: [checkAudit, 'The device stays held; free it: `capataz-rpa release`.'],
    },
    run_unknown: {
      level: 'ALTO',
      scope: 'EQUIPO',
      nature: 'TRANSITORIO',
      title: 'Run in UNKNOWN',
      repeatMs: dayMs,
      tellsRecovery: true,
      actions: [checkRunner, checkAudit],
    },
    run_not_found: {
      level: 'MEDIO',
      scope: 'EQUIPO',
      nature: 'UMBRAL',
      title: 'The Control Room does not know an accepted deployment',
      repeatMs: dayMs,
      tellsRecovery: true,
      actions: [checkAudit],
    },
  } as const satisfies Partial<Policies>;
}

const robotAlerts = {
  robot_without_targets: {
    level: 'ALTO',
    scope: 'ROBOT',
    nature: 'PERMANENTE',
    title: 'Robot without compatible targets',
    repeatMs: null,
    tellsRecovery: true,
    actions: ['Mend the robot in the Control Room.', 'Then set it active again.'],
  },
  deploy_refused: {
    level: 'MEDIO',
    scope: 'ROBOT',
    nature: 'PERMANENTE',
    title: 'Deployment refused',
    repeatMs: hourMs,
    actions: ['Check that the robot exists and that the launcher’s user may run it.'],
  },
  run_late: {
    level: 'MEDIO',
    scope: 'ROBOT',
    nature: 'UMBRAL',
    title: 'Run takes longer than usual',
    repeatMs: null,
    actions: [checkAudit],
  },
  run_orphan: {
    level: 'MEDIO',
    scope: 'ROBOT',
    nature: 'UMBRAL',
    title: 'Run stays queued',
    repeatMs: null,
    actions: [checkRunner, checkAudit],
  },
  slot_skipped: {
    level: 'MEDIO',
    scope: 'ROBOT',
    nature: 'PERMANENTE',
    title: 'Scheduled run skipped',
    repeatMs: null,
    actions: ['Move the schedule, its tolerance or the pause.'],
  },
} as const satisfies Partial<Policies>;

function systemAlerts(repeatMs: number) {
  return {
    deletions_stopped: {
      level: 'CRÍTICO',
      scope: 'SISTEMA',
      nature: 'UMBRAL',
      title: 'Too many assignments would be removed',
      repeatMs,
      tellsRecovery: true,
      actions: [
        'Several robots are refused at once: look for what they share before anything else.',
      ],
    },
    sync_refused: {
      level: 'CRÍTICO',
      scope: 'SISTEMA',
      nature: 'UMBRAL',
      title: 'Synchronisation refused',
      repeatMs: dayMs,
      tellsRecovery: true,
      actions: [
        'Check what the launcher’s user may see in the Control Room, and the filters of robots.',
      ],
    },
    cycle_failed: {
      level: 'CRÍTICO',
      scope: 'SISTEMA',
      nature: 'TRANSITORIO',
      title: 'A cycle failed',
      repeatMs,
      tellsRecovery: true,
      actions: ['Look at the log of the launcher.'],
    },
    control_room_down: {
      level: 'CRÍTICO',
      scope: 'SISTEMA',
      nature: 'TRANSITORIO',
      title: 'Control Room not available',
      // Restarts and short cuts of the cloud take less.
      lastingMs: 5 * minuteMs,
      repeatMs: null,
      tellsRecovery: true,
      actions: ['Check network and state of the Control Room. Deployments wait.'],
    },
    credentials_rejected: {
      level: 'CRÍTICO',
      scope: 'SISTEMA',
      nature: 'PERMANENTE',
      title: 'Control Room rejects the launcher’s credentials',
      repeatMs: null,
      tellsRecovery: true,
      actions: [
        'Check AA_CR_USER and AA_CR_API_KEY or AA_CR_PWD: API keys run out.',
        'Make sure that nobody else logs in with this user.',
      ],
    },
    clock_skew: {
      level: 'MEDIO',
      scope: 'SISTEMA',
      nature: 'UMBRAL',
      title: 'Clocks differ',
      repeatMs: dayMs,
      actions: ['Set the clock of this machine by NTP.'],
    },
    database_down: {
      level: 'CRÍTICO',
      scope: 'SISTEMA',
      nature: 'TRANSITORIO',
      title: 'Database not available',
      repeatMs,
      tellsRecovery: true,
      actions: ['Check the database. Nothing is deployed meanwhile.'],
    },
    critical: {
      level: 'CRÍTICO',
      scope: 'SISTEMA',
      nature: 'TRANSITORIO',
      title: 'Critical error',
      repeatMs,
      actions: ['Look at the log of the launcher.'],
    },
  } as const satisfies Partial<Policies>;
}
