import type { Endpoint, Fault } from './world.ts';

/** A call as it arrives, over a socket or in process. */
export interface FakeCall {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type FakeReply =
  | {
      readonly type: 'answer';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly text: string;
      /** Between head and body. */
      readonly bodyDelayMs: number;
    }
  /** The connection ends. */
  | { readonly type: 'reset' };

/** A call that was made, for tests to look at. */
export interface SeenCall {
  readonly endpoint: Endpoint;
  readonly at: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Null until it is answered, and where it never was. */
  readonly status: number | null;
}

const paths: readonly (readonly [RegExp, Endpoint])[] = [
  [/^\/v[12]\/authentication$/, 'login'],
  [/^\/v1\/authentication\/token$/, 'refresh'],
  [/^\/v1\/authentication\/logout$/, 'logout'],
  [/^\/v4\/automations\/deploy$/, 'deploy'],
  [/^\/v3\/activity\/list$/, 'activity'],
  [/^\/v3\/activity\/execution\//, 'execution'],
  [/^\/v3\/activity\/manage$/, 'manage'],
  [/^\/v1\/activity\/auditunknown$/, 'auditunknown'],
  [/^\/v2\/devices\/list$/, 'devices'],
  [/^\/v[12]\/usermanagement\/users\/list$/, 'users'],
  [/^\/v2\/repository\/workspaces\/public\/files\/list$/, 'files'],
  [/^\/gateway\/token$/, 'gateway'],
];

export function endpointOf(path: string): Endpoint | null {
  return paths.find(([pattern]) => pattern.test(path))?.[1] ?? null;
}

/** Remembers calls, and how many of each endpoint were under way at once. */
export class CallBook {
  readonly #keep: number;
  readonly #seen: SeenCall[] = [];
  readonly #counts = new Map<Endpoint, number>();
  readonly #inFlight = new Map<Endpoint, number>();
  readonly #most = new Map<Endpoint, number>();

  constructor(keep: number) {
    this.#keep = keep;
  }

  begin(
    endpoint: Endpoint,
    at: number,
    { headers, body }: FakeCall,
  ): (status: number | null) => void {
    const seen: { -readonly [K in keyof SeenCall]: SeenCall[K] } = {
      endpoint,
      at,
      headers,
      body,
      status: null,
    };
    this.#seen.push(seen);
    if (this.#seen.length > this.#keep) this.#seen.shift();
    this.#counts.set(endpoint, this.count(endpoint) + 1);
    const now = (this.#inFlight.get(endpoint) ?? 0) + 1;
    this.#inFlight.set(endpoint, now);
    this.#most.set(endpoint, Math.max(now, this.most(endpoint)));
    return (status) => {
      seen.status = status;
      this.#inFlight.set(endpoint, (this.#inFlight.get(endpoint) ?? 1) - 1);
    };
  }

  /** The last ones, oldest first. */
  seen(endpoint?: Endpoint): readonly SeenCall[] {
    return endpoint === undefined
      ? [...this.#seen]
      : this.#seen.filter((call) => call.endpoint === endpoint);
  }

  count(endpoint: Endpoint): number {
    return this.#counts.get(endpoint) ?? 0;
  }

  most(endpoint: Endpoint): number {
    return this.#most.get(endpoint) ?? 0;
  }
}

/** Which rule a call falls under. Each rule counts the calls that fit it. */
export class Faults {
  readonly #rules: { readonly fault: Fault; calls: number }[] = [];

  add(fault: Fault): void {
    this.#rules.push({ fault, calls: 0 });
  }

  clear(): void {
    this.#rules.length = 0;
  }

  next(endpoint: Endpoint, about: { robotId?: number; deviceId?: number }): Fault | null {
    let found: Fault | null = null;
    for (const rule of this.#rules) {
      const { robotId, deviceId, from = 1, times = Number.POSITIVE_INFINITY } = rule.fault;
      if (rule.fault.endpoint !== endpoint) continue;
      if (robotId !== undefined && robotId !== about.robotId) continue;
      if (deviceId !== undefined && deviceId !== about.deviceId) continue;
      rule.calls += 1;
      if (found === null && rule.calls >= from && rule.calls < from + times) found = rule.fault;
    }
    return found;
  }
}
