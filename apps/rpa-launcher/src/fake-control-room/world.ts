/** What a fake Control Room has, and how it behaves. All of it is JSON, so that a process can be told it, too. */

export interface FakeUser {
  readonly id: number;
  readonly username: string;
  readonly password?: string;
  readonly apiKey?: string;
  readonly licenses: readonly string[];
  readonly isDisabled?: boolean;
  /** Where its robots run. */
  readonly deviceId: number | null;
}

export type DeviceStatus = 'CONNECTED' | 'DISCONNECTED' | 'OFFLINE';

export interface FakeDevice {
  readonly id: number;
  readonly hostName: string;
  readonly status: DeviceStatus;
}

export interface FakeRobot {
  readonly id: number;
  readonly name: string;
  readonly path: string;
  readonly description?: string;
  readonly script?: RobotScript;
  /** Inputs that it has, and their types; others are refused. Default: it takes any. */
  readonly inputs?: Readonly<Record<string, string>>;
  /** 412, for good. */
  readonly hasNoTargets?: boolean;
}

/** A fixed time, or one between the two. */
export type Ms = number | readonly [number, number];

export type RunEnd = 'COMPLETED' | 'RUN_FAILED' | 'RUN_ABORTED' | 'RUN_TIMED_OUT' | 'DEPLOY_FAILED';

export interface RobotScript {
  /** PENDING_EXECUTION before it runs. Default 1 s. */
  readonly pendingMs?: Ms;
  /** RUNNING. Null: it never ends. Default 60 s. */
  readonly durationMs?: Ms | null;
  /** Default COMPLETED. */
  readonly end?: RunEnd;
  /** While it runs the Control Room loses sight of it, for a time or for good. */
  readonly unknown?: { readonly afterMs: number; readonly forMs: number | null };
  /** So long after it began to run the lists know nothing of it any more. */
  readonly vanishesAfterMs?: number;
  /** Activities of one deployment. Default 1. */
  readonly activities?: number;
  /** Says UPDATE in place of RUNNING. */
  readonly saysUpdate?: boolean;
}

export interface Switches {
  readonly tokenLifeMs: number;
  /** Whether the login says `tokenExpiresIn`. */
  readonly tellsTokenLife: boolean;
  /** A login ends the user's other sessions even with an API key. */
  readonly alwaysSingleSession: boolean;
  readonly spentTokenStatus: 401 | 400;
  /** Of a disconnected device: refused so, or queued. */
  readonly offline: 'refuse_412' | 'refuse_400' | 'queue';
  readonly deployStatus: 200 | 201 | 202;
  /** A deployment is in no list before this. */
  readonly indexingDelayMs: number;
  /** Longest page, whatever is asked for. */
  readonly pageCap: number;
  readonly answersTotals: boolean;
  /** Ids as texts, as in most lists. */
  readonly idsAreTexts: boolean;
  /** An end that is not set is said to be in 1970. */
  readonly saysEpoch: boolean;
  readonly fractionDigits: number;
  /** Whether activities can be filtered by `automationName`. */
  readonly filtersAutomationName: boolean;
  /** Activities bear names of its own, and not those that were asked for. */
  readonly namesRuns: boolean;
  /** Addresses that callbacks may go to, by their beginning. Null: any. */
  readonly callbackAllowList: readonly string[] | null;
  /** How far its clock is ahead: that of its answers, and of the starts and ends of runs. */
  readonly clockAheadMs: number;
  readonly callbacks: CallbackSwitches;
}

export interface CallbackSwitches {
  readonly delayMs: number;
  /** 0: none comes; 2: each comes twice. */
  readonly copies: number;
  /** The robot has ended, and its callback has come, before the deploy call is answered. */
  readonly comesBeforeAnswer: boolean;
  /** In place of the headers that were asked for. */
  readonly headers: Readonly<Record<string, string>> | null;
  /** After an answer that is no 2xx. */
  readonly retries: number;
}

export const usualSwitches: Switches = {
  tokenLifeMs: 1_200_000,
  tellsTokenLife: true,
  alwaysSingleSession: false,
  spentTokenStatus: 401,
  offline: 'refuse_412',
  deployStatus: 200,
  indexingDelayMs: 0,
  pageCap: 100,
  answersTotals: true,
  idsAreTexts: true,
  saysEpoch: false,
  fractionDigits: 9,
  filtersAutomationName: false,
  namesRuns: false,
  callbackAllowList: null,
  clockAheadMs: 0,
  callbacks: { delayMs: 0, copies: 1, comesBeforeAnswer: false, headers: null, retries: 0 },
};

export const endpoints = [
  'login',
  'refresh',
  'logout',
  'deploy',
  'activity',
  'execution',
  'manage',
  'auditunknown',
  'devices',
  'users',
  'files',
  'gateway',
] as const;
export type Endpoint = (typeof endpoints)[number];

/** What goes wrong with the calls that it names; the first rule that fits a call holds. */
export interface Fault {
  readonly endpoint: Endpoint;
  /** Of deploy calls. */
  readonly robotId?: number;
  /** Of deploy calls: the default device of the run-as user. */
  readonly deviceId?: number;
  /** The nth call that fits, the first is 1. Default 1. */
  readonly from?: number;
  /** So many from there. Default: all. */
  readonly times?: number;
  /** Answered so, and nothing done. */
  readonly status?: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Before anything is done. */
  readonly delayMs?: number;
  /** Between what is done and its answer. */
  readonly answerDelayMs?: number;
  /** Between the head of the answer and its body. */
  readonly bodyDelayMs?: number;
  /** The connection ends without an answer: before anything is done, or after it. */
  readonly reset?: 'before' | 'after';
  /** Done, and answered with something that is no JSON. */
  readonly garbles?: boolean;
  /** Done, and the answer to a deploy call has no id. */
  readonly omitsDeploymentId?: boolean;
}

export interface FakeWorld {
  readonly users: readonly FakeUser[];
  readonly devices: readonly FakeDevice[];
  readonly robots: readonly FakeRobot[];
  readonly switches?: Partial<Switches>;
  readonly faults?: readonly Fault[];
  readonly gateway?: { readonly clientId: string; readonly clientSecret: string };
}

/** The user that the launcher logs in with in `worldOf`. */
export const launcherUser = {
  username: 'lanzador',
  apiKey: 'fake-api-key',
  password: 'fake-password',
};

/** A world of so many devices, each with a user of its own, and so many robots. */
export function worldOf({
  devices,
  robots,
  script = {},
}: {
  readonly devices: number;
  readonly robots: number;
  readonly script?: RobotScript;
}): FakeWorld {
  const numbers = (count: number): number[] => [...new Array(count).keys()].map((n) => n + 1);
  const runAs = numbers(devices).map((n) => ({
    id: 5_000 + n,
    username: `runner${n}`,
    licenses: ['RUNTIME'],
    deviceId: 100 + n,
  }));
  return {
    users: [{ id: 1, ...launcherUser, licenses: [], deviceId: null }, ...runAs],
    devices: numbers(devices).map((n) => ({
      id: 100 + n,
      hostName: `RPA-PC-${String(n).padStart(3, '0')}`,
      status: 'CONNECTED',
    })),
    robots: numbers(robots).map((n) => ({
      id: 9_000 + n,
      name: `P${String(n).padStart(3, '0')}_Robot`,
      path: `Automation Anywhere\\Bots\\RPA\\P${n}`,
      script,
    })),
    gateway: { clientId: 'fake-client', clientSecret: 'fake-secret' },
  };
}
