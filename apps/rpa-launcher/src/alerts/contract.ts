/**
 * What the launcher tells people by mail. A part that sees something wrong raises it each time that
 * it sees it, and clears it when it is over; whether a mail goes out is decided here, from the kind's
 * policy and the stored mark. So a restart repeats nothing, and a mail that could not be sent, or
 * that the cap held back, is sent later.
 *
 * Promises resolve when the mail has gone, which may take its time: a cycle does not wait for them.
 */
export interface Alerts {
  /** Never throws: an alert that fails must not harm what it tells about. */
  raise(alert: Alert): Promise<RaiseResult>;
  /** It is over, or went well. Sends the mail of recovery where the kind has one. Costs nothing if nothing was raised. */
  clear(kind: AlertKind, key: string, facts?: Facts): Promise<void>;
  /** Another launcher may have told and cleared much: the stored marks count, from the next raise on. */
  reread(): void;
  /** What is raised and not cleared, newest first. */
  current(): Promise<readonly AlertMark[]>;
  /** Waits for what is being sent. */
  close(): Promise<void>;
}

export type Facts = Readonly<Record<string, string | number | null>>;

export interface Alert {
  readonly kind: AlertKind;
  /** What it is about, one alert each: a host name, a robot's id, `deploy` for the cycle, … */
  readonly key: string;
  /** One sentence. */
  readonly message: string;
  /** The table of the mail: robot, device, user, status, the Control Room's text, … No secrets. */
  readonly facts?: Facts;
}

/**
 * `sent`: to all recipients. `held`: the policy says not now. `waiting`: the cap or the mail server
 * says not now. `logged`: mail is not set up.
 */
export type RaiseResult = 'sent' | 'held' | 'waiting' | 'logged';

/** The words of the subject, as operators know them. */
export type AlertLevel = 'CRÍTICO' | 'ALTO' | 'MEDIO';
export type AlertScope = 'SISTEMA' | 'ROBOT' | 'EQUIPO';
export type AlertNature = 'PERMANENTE' | 'TRANSITORIO' | 'UMBRAL' | 'RECUPERACIÓN';

export interface AlertPolicy {
  readonly level: AlertLevel;
  readonly scope: AlertScope;
  readonly nature: Exclude<AlertNature, 'RECUPERACIÓN'>;
  /** Of the subject. */
  readonly title: string;
  /** Raised this often without a clear in between before the first mail. Default 1. */
  readonly threshold?: number;
  /** Raised for this long without a clear before the first mail. Default 0. */
  readonly lastingMs?: number;
  /** While it lasts, one mail in this time. Null: one until it is cleared. */
  readonly repeatMs: number | null;
  /** A mail says that it is over. */
  readonly tellsRecovery?: true;
  /** What the reader should do, in order. */
  readonly actions: readonly string[];
}

export const alertKinds = [
  /** key: host name. The first permanent 400 on a device; cleared by a success there. */
  'bad_request',
  /** key: host name. Raise once a cycle that ended with 412 there, clear on success. */
  'device_unavailable',
  /** key: robot id. */
  'robot_without_targets',
  /** key: user id. */
  'user_without_device',
  /** key: host name. */
  'runner_session',
  /** key: robot id. 403, 404 and other refusals. */
  'deploy_refused',
  /** key: job id. An ambiguous deployment that look-ups do not resolve (S-91). */
  'deployment_unresolved',
  /** key: host name. A run stays UNKNOWN, or was found active behind a released device (S-89). */
  'run_unknown',
  /** key: job id. */
  'run_late',
  /** key: job id. */
  'run_orphan',
  /** key: deployment id. Accepted, and the Control Room does not know it (LH-14). */
  'run_not_found',
  /** key: job id. A slot fell wholly inside the pause (LH-6). */
  'slot_skipped',
  /** key: `assignments`. The breaker before mass deletions (LH-7). */
  'deletions_stopped',
  /** key: `robots`, `devices`. A synchronisation that would change too much (LH-16). */
  'sync_refused',
  /** key: name of the cycle. An error that nobody caught. */
  'cycle_failed',
  /** key: `control-room`. Kept by `watchControlRoom`. */
  'control_room_down',
  /** key: `control-room`. Kept by `watchControlRoom`. */
  'credentials_rejected',
  /** key: `clock`. */
  'clock_skew',
  /** key: `database`. */
  'database_down',
  /** key: whatever the caller likes. */
  'critical',
] as const;
export type AlertKind = (typeof alertKinds)[number];

/** What is remembered of one kind and key. The launcher keeps it in a table. Instants are ms since 1970 UTC. */
export interface AlertMark extends Alert {
  readonly facts: Facts;
  /** How often it was raised since it was last clear. */
  readonly count: number;
  readonly firstRaisedAt: number;
  readonly lastRaisedAt: number;
  /** When the last mail about it went out; null: none did. */
  readonly mailedAt: number | null;
  /** A mail is due and has not gone out yet. */
  readonly isUnsent: boolean;
}

/** Where marks lie. One row for each kind and key; a put replaces it. */
export interface AlertMarks {
  all(): Promise<readonly AlertMark[]>;
  put(mark: AlertMark): Promise<void>;
  remove(kind: AlertKind, key: string): Promise<void>;
}
