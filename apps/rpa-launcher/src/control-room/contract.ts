/**
 * What the launcher asks of an Automation 360 Control Room. The HTTP client and the fake in process
 * both stand behind it. Instants are ms since 1970 UTC; ids of robots, devices and users are numbers,
 * as they are in the tables, though the wire often has them as texts.
 */
export interface ControlRoom {
  /** Every robot that passes the filters of the settings. @throws ControlRoomError */
  robots(): Promise<readonly RobotFile[]>;
  /** Every device, connected or not, so that one that vanished can be told. @throws ControlRoomError */
  devices(): Promise<readonly Device[]>;
  /** @throws ControlRoomError */
  users(): Promise<readonly User[]>;
  /**
   * Starts a robot. Never throws and never tries twice, except once more with a new token after the
   * Control Room said that the old one is spent: then nothing was deployed.
   */
  deploy(order: DeployOrder): Promise<DeployOutcome>;
  /** What became of deployments, in batches. A batch that fails harms no other. Never throws. */
  activitiesOf(deploymentIds: readonly string[]): Promise<ActivityReport>;
  /** For look-ups: is a robot running there, did a deployment happen? @throws ControlRoomError */
  activities(query: ActivityQuery): Promise<readonly Activity[]>;
  /** Asks for the end of whatever runs of this deployment. @throws ControlRoomError */
  stop(deploymentId: string): Promise<StopOutcome>;
  /** How far the Control Room's clock was ahead of ours at the last answer (LH-5); null before it. */
  clockSkewMs(): number | null;
  /** Logs out, and ends what is under way. */
  close(): Promise<void>;
}

/** A file of the public workspace that is a robot. */
export interface RobotFile {
  readonly robotId: number;
  readonly name: string;
  readonly description: string | null;
  readonly path: string;
}

export interface Device {
  readonly deviceId: number;
  readonly hostName: string;
  /** As the Control Room says it; an open set. */
  readonly status: string;
  readonly isConnected: boolean;
  readonly defaultUserIds: readonly number[];
}

export interface User {
  readonly userId: number;
  readonly userName: string;
  readonly licenses: readonly string[];
  /** Disabled or deleted. */
  readonly isDisabled: boolean;
}

export interface DeployOrder {
  readonly robotId: number;
  /** The run-as user: the robot runs on the default device that this user has. */
  readonly userId: number;
  /** Carries our key, so that a look-up finds the run (LH-1). Unique a deployment. */
  readonly automationName: string;
  /** `{ in_NumRepeticion: { type: 'NUMBER', number: '3' } }` */
  readonly botInput: BotInput;
  readonly callback: Callback | null;
  /** Asked when login, rate and queue are behind and the call would leave. Default: it may. */
  readonly mayLeave?: () => boolean;
}

export type BotInput = Readonly<Record<string, BotValue>>;

export type BotValue =
  | { readonly type: 'STRING'; readonly string: string }
  | { readonly type: 'NUMBER'; readonly number: string }
  | { readonly type: 'BOOLEAN'; readonly boolean: boolean }
  | { readonly type: 'DATETIME'; readonly string: string }
  | { readonly type: 'LIST'; readonly list: readonly BotValue[] }
  | {
      readonly type: 'DICTIONARY';
      readonly dictionary: readonly { readonly key: string; readonly value: BotValue }[];
    };

export interface Callback {
  readonly url: string;
  /** The Control Room sends exactly these with the callback. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What is known after a deploy call, as S-84 needs it. */
export type DeployOutcome =
  /** It runs, or will. */
  | { readonly outcome: 'accepted'; readonly deploymentId: string }
  /** The Control Room understood and did not deploy. */
  | {
      readonly outcome: 'refused';
      readonly status: number;
      readonly code: string | null;
      /** The text of the answer, shortened; for people. */
      readonly message: string;
      readonly reason: RefusalReason;
      /** Of `Retry-After`, where the answer has one. */
      readonly retryAfterMs: number | null;
    }
  /** Neither the token nor a new one was taken: nothing was deployed, and no robot is to blame. */
  | { readonly outcome: 'unauthorized'; readonly message: string }
  /** Nothing left this machine: no connection, no DNS, or no login. May be tried again at once. */
  | { readonly outcome: 'unsent'; readonly message: string }
  /**
   * Sent, and nobody knows: a time-out, a reset, a 5xx, an answer without a deployment id. Look the
   * run up before anything else.
   */
  | {
      readonly outcome: 'ambiguous';
      readonly status: number | null;
      readonly message: string;
      readonly retryAfterMs: number | null;
    };

/** Why it was not deployed, told by status and text (spec 2.3 and 6; LH-7, LH-21). */
export type RefusalReason =
  /** 412, and 400 that says the device is not active: temporary. */
  | 'device_unavailable'
  /** 412 without compatible targets: the robot's fault, permanent. */
  | 'robot_without_targets'
  /** 400: the run-as user has no default device; an administrator mends it, assignments stay. */
  | 'user_without_device'
  /** 400: the session on the runner. */
  | 'runner_session'
  /** Every other 400: permanent. */
  | 'bad_request'
  | 'forbidden'
  | 'not_found'
  /** 429 */
  | 'too_many'
  /** Every other status. */
  | 'other';

/** One run. A deployment may have several, and none for a while after it was accepted. */
export interface Activity {
  readonly activityId: string;
  readonly deploymentId: string | null;
  readonly automationName: string | null;
  /** In capitals, as the Control Room says it; an open set. */
  readonly status: string;
  readonly robotId: number | null;
  readonly deviceId: number | null;
  readonly userId: number | null;
  readonly startedAt: number | null;
  /** Null also where the Control Room says 1970. */
  readonly endedAt: number | null;
  readonly message: string | null;
}

export interface ActivityReport {
  readonly found: readonly Activity[];
  /** Ids whose batch was answered: only these can be missing (LH-13). */
  readonly answered: readonly string[];
  readonly failures: readonly {
    readonly deploymentIds: readonly string[];
    readonly kind: ControlRoomErrorKind;
    readonly message: string;
  }[];
}

/** Everything given must hold. Robot, device and statuses are filtered there, the rest here. */
export interface ActivityQuery {
  readonly robotId?: number;
  readonly deviceId?: number;
  readonly userId?: number;
  readonly automationName?: string;
  readonly statuses?: readonly string[];
  /** Runs that started at this instant or later, and those that have not started. */
  readonly since?: number;
}

export type StopOutcome =
  /** The Control Room will stop it; the run's end comes as any other. */
  | { readonly outcome: 'asked' }
  /** It knows no run of this deployment that could be stopped. */
  | { readonly outcome: 'not_running' }
  | { readonly outcome: 'refused'; readonly message: string };

export type ControlRoomErrorKind =
  /** User, password or API key were not taken. */
  | 'credentials'
  /** Not reached, or not answered in time. */
  | 'unreachable'
  /** 5xx and 429. */
  | 'unavailable'
  /** Any other answer than was asked for. */
  | 'refused';

export class ControlRoomError extends Error {
  override readonly name = 'ControlRoomError';
  readonly kind: ControlRoomErrorKind;
  readonly status: number | null;
  readonly retryAfterMs: number | null;

  constructor(
    kind: ControlRoomErrorKind,
    message: string,
    details: {
      readonly status?: number;
      readonly retryAfterMs?: number;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, details.cause === undefined ? {} : { cause: details.cause });
    this.kind = kind;
    this.status = details.status ?? null;
    this.retryAfterMs = details.retryAfterMs ?? null;
  }
}
