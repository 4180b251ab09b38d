import type { Clock } from 'capataz/server';
import { delay } from 'capataz/server';
import { CallBook, endpointOf, type FakeCall, type FakeReply, Faults } from './calls.ts';
import { deploymentOf, namedIn } from './deploying.ts';
import { Estate } from './estate.ts';
import { list } from './lists.ts';
import { QueryError } from './query.ts';
import { type FakeRun, Runs, type SendCallback, type SentCallback, sendCallbacks } from './runs.ts';
import { Tokens } from './tokens.ts';
import { userView } from './views.ts';
import {
  type DeviceStatus,
  type Endpoint,
  type FakeWorld,
  type Fault,
  type Switches,
  usualSwitches,
} from './world.ts';

export interface FakeOptions {
  readonly clock: Clock;
  readonly newId: () => string;
  /** From 0 to below 1, for times that lie between two. */
  readonly random: () => number;
  /** Default: callbacks go nowhere. */
  readonly sendCallback?: SendCallback;
  /** Calls that are remembered with headers and body. Default 10,000. */
  readonly keepsCalls?: number;
}

type Fields = Readonly<Record<string, unknown>>;

interface Said {
  readonly status: number;
  readonly body: unknown;
}

/** A Control Room that deploys nothing, and keeps the book of what would have run. */
export class FakeControlRoom {
  readonly estate: Estate;
  readonly calls: CallBook;
  readonly faults = new Faults();
  readonly sentCallbacks: SentCallback[] = [];
  /** Nothing reaches it, in process; over sockets, close the server. */
  isDown = false;
  switches: Switches;
  readonly #options: FakeOptions;
  readonly #tokens: Tokens;
  readonly #runs: Runs;
  readonly #gateway: FakeWorld['gateway'];
  #gatewayTokens = 0;

  constructor(world: FakeWorld, options: FakeOptions) {
    this.#options = options;
    const { clock, random, newId } = options;
    this.switches = { ...usualSwitches, ...world.switches };
    this.calls = new CallBook(options.keepsCalls ?? 10_000);
    this.#tokens = new Tokens(clock, newId);
    this.#gateway = world.gateway;
    this.estate = new Estate(world);
    for (const fault of world.faults ?? []) this.faults.add(fault);
    this.#runs = new Runs({
      clock,
      random,
      robotOf: (id) => this.estate.robots.get(id),
      isConnected: (id) => this.estate.devices.get(id)?.status === 'CONNECTED',
      onEnd: (run) => this.#called(run),
    });
  }

  /** Everything that was deployed, in order: the truth that the launcher's tables are held against. */
  get runs(): readonly FakeRun[] {
    return this.#runs.all;
  }

  /** How many runs there were of each name: our key of one deployment. */
  runsByName(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { automationName } of this.runs)
      counts.set(automationName, (counts.get(automationName) ?? 0) + 1);
    return counts;
  }

  set(switches: Partial<Switches>): void {
    this.switches = { ...this.switches, ...switches };
  }

  /** What was queued for a device begins when the device is back. */
  setDeviceStatus(id: number, status: DeviceStatus): void {
    const device = this.estate.devices.get(id);
    if (device === undefined) return;
    this.estate.devices.set(id, { ...device, status });
    if (status === 'CONNECTED') this.#runs.wake(id);
  }

  /** Ends a run from outside, as an operator of the Control Room does. */
  endRun(deploymentId: string, status: Parameters<Runs['end']>[1] = 'RUN_ABORTED'): void {
    this.#runs.end(deploymentId, status);
  }

  /** Every token is refused from now on. */
  endSessions(): void {
    this.#tokens.revokeAll();
  }

  close(): void {
    this.#runs.close();
  }

  async handle(call: FakeCall): Promise<FakeReply> {
    const endpoint = endpointOf(call.path);
    if (endpoint === null) return this.#answer({ status: 404, body: { message: 'no such path' } });
    const ended = this.calls.begin(endpoint, this.#options.clock.now(), call);
    const reply = await this.#handle(endpoint, call);
    ended(reply.type === 'answer' ? reply.status : null);
    return reply;
  }

  async #handle(endpoint: Endpoint, call: FakeCall): Promise<FakeReply> {
    const fields = fieldsIn(call.body);
    const fault = this.faults.next(endpoint, this.#aboutOf(endpoint, fields));
    await this.#wait(fault?.delayMs);
    if (fault?.reset === 'before') return { type: 'reset' };
    if (fault?.status !== undefined)
      return this.#answer({ status: fault.status, body: fault.body ?? '' }, fault);
    const said = await this.#say(endpoint, call, fields);
    await this.#wait(fault?.answerDelayMs);
    if (fault?.reset === 'after') return { type: 'reset' };
    return this.#answer(said, fault);
  }

  async #say(endpoint: Endpoint, call: FakeCall, fields: Fields): Promise<Said> {
    if (endpoint === 'login') return this.#logIn(fields);
    if (endpoint === 'gateway') return this.#giveGatewayToken(call.body);
    const token = call.headers['x-authorization'] ?? '';
    const user = this.#tokens.userOf(token);
    if (token === '')
      return refusal(401, 'UM1117', "Access token expected in the 'X-Authorization' header");
    if (user === null)
      return refusal(this.switches.spentTokenStatus, 'UM1110', 'Access token expired');
    switch (endpoint) {
      case 'refresh':
        return { status: 200, body: { token: this.#tokens.issue(user, false, this.switches) } };
      case 'logout':
        this.#tokens.revoke(token);
        return { status: 204, body: '' };
      case 'deploy':
        return this.#deploy(fields);
      case 'manage':
        return this.#manage(fields);
      case 'execution':
        return { status: 200, body: { botOutVariables: { values: {} } } };
      case 'auditunknown':
        return { status: 204, body: '' };
      default:
        return this.#list(endpoint, fields);
    }
  }

  #list(endpoint: Endpoint, query: Fields): Said {
    const now = this.#options.clock.now();
    try {
      const { switches } = this;
      const body = list(endpoint, query, { estate: this.estate, runs: this.#runs, switches, now });
      return { status: 200, body };
    } catch (error) {
      if (error instanceof QueryError) return refusal(400, 'json.validation', error.message);
      throw error;
    }
  }

  #logIn({ username, apiKey, password, multipleLogin }: Fields): Said {
    const user = [...this.estate.users.values()].find(
      (candidate) => candidate.username === username,
    );
    const isKeyRight = apiKey !== undefined && user?.apiKey === apiKey;
    const isPasswordRight = password !== undefined && user?.password === password;
    if (user === undefined || user.isDisabled === true || !(isKeyRight || isPasswordRight))
      return refusal(401, 'UM1101', 'Invalid credentials');
    const endsOthers = this.switches.alwaysSingleSession || (!isKeyRight && multipleLogin !== true);
    const token = this.#tokens.issue(user, endsOthers, this.switches);
    const { tellsTokenLife, tokenLifeMs } = this.switches;
    const life = tellsTokenLife ? { tokenExpiresIn: tokenLifeMs / 1_000 } : {};
    return { status: 200, body: { token, ...life, user: userView(user, this.switches) } };
  }

  #giveGatewayToken(body: string): Said {
    const form = new URLSearchParams(body);
    const isRight =
      this.#gateway !== undefined &&
      form.get('grant_type') === 'client_credentials' &&
      form.get('client_id') === this.#gateway.clientId &&
      form.get('client_secret') === this.#gateway.clientSecret;
    if (!isRight) return { status: 401, body: { error: 'invalid_client' } };
    this.#gatewayTokens += 1;
    const access_token = `gateway-token-${this.#gatewayTokens}`;
    return { status: 200, body: { access_token, token_type: 'Bearer', expires_in: 3_600 } };
  }

  async #deploy(fields: Fields): Promise<Said> {
    const deployment = deploymentOf(fields, {
      estate: this.estate,
      switches: this.switches,
    });
    if ('status' in deployment)
      return refusal(deployment.status, deployment.code, deployment.message);
    const { robot, user, device, input, callback } = deployment;
    const { clock, newId } = this.#options;
    const now = clock.now();
    const deploymentId = newId();
    const asked = this.switches.namesRuns ? null : deployment.automationName;
    const automationName = asked ?? `${robot.name}.${now}.${user.username}`;
    const activities = [...new Array(robot.script?.activities ?? 1)];
    this.#runs.add({
      deploymentId,
      automationName,
      activityIds: activities.map(() => `${newId()}_${newId().replaceAll('-', '').slice(0, 16)}`),
      robotId: robot.id,
      userId: user.id,
      deviceId: device.id,
      input,
      callback,
      acceptedAt: now,
      visibleAt: now + this.switches.indexingDelayMs,
      startedAt: null,
      endedAt: null,
      status: 'DEPLOYED',
      isVanished: false,
    });
    if (this.switches.callbacks.comesBeforeAnswer) {
      this.#runs.end(deploymentId, robot.script?.end ?? 'COMPLETED');
      await this.#callBack(deploymentId);
    }
    return { status: this.switches.deployStatus, body: { deploymentId, automationName } };
  }

  #manage(fields: Fields): Said {
    const stop = fields.stop_executions as { execution_ids?: unknown } | undefined;
    const ids = Array.isArray(stop?.execution_ids) ? stop.execution_ids : [];
    const errors = ids.flatMap((id) => {
      const run = this.runs.find(({ activityIds }) => activityIds.includes(String(id)));
      if (run === undefined || run.endedAt !== null)
        return [{ execution_id: id, error_response: { message: 'no such execution' } }];
      this.#runs.end(run.deploymentId, 'RUN_ABORTED');
      return [];
    });
    return { status: 200, body: { manage_action_errors: errors } };
  }

  #called(run: FakeRun): void {
    const { comesBeforeAnswer, delayMs } = this.switches.callbacks;
    if (run.callback === null || comesBeforeAnswer) return;
    // Errors of the sender are answers of status 0: nothing is thrown.
    this.#options.clock.after(delayMs, () => void this.#callBack(run.deploymentId));
  }

  async #callBack(deploymentId: string): Promise<void> {
    const run = this.#runs.get(deploymentId);
    if (run === undefined) return;
    const send = this.#options.sendCallback ?? (async () => 0);
    const sent = await sendCallbacks(run, send, this.switches.callbacks);
    const at = this.#options.clock.now();
    this.sentCallbacks.push(...sent.map((one) => ({ ...one, at })));
  }

  #aboutOf(endpoint: Endpoint, fields: Fields): { robotId?: number; deviceId?: number } {
    if (endpoint !== 'deploy') return {};
    const { robotId, userId } = namedIn(fields);
    const deviceId = this.estate.users.get(userId)?.deviceId;
    return { robotId, ...(typeof deviceId === 'number' ? { deviceId } : {}) };
  }

  async #wait(ms: number | undefined): Promise<void> {
    if (ms !== undefined && ms > 0) await delay(this.#options.clock, ms);
  }

  #answer({ status, body }: Said, fault: Fault | null = null): FakeReply {
    const now = this.#options.clock.now() + this.switches.clockAheadMs;
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return {
      type: 'answer',
      status,
      headers: {
        'content-type': 'application/json',
        date: new Date(now).toUTCString(),
        ...fault?.headers,
      },
      text: fault?.garbles === true ? '<html>{' : fault?.omitsDeploymentId === true ? '{}' : text,
      bodyDelayMs: fault?.bodyDelayMs ?? 0,
    };
  }
}

function refusal(status: number, code: string, message: string): Said {
  return { status, body: { code, details: null, message } };
}

function fieldsIn(text: string): Fields {
  try {
    const value: unknown = JSON.parse(text);
    // Checked to be an object, whose fields are unknown.
    return typeof value === 'object' && value !== null ? (value as Fields) : {};
  } catch {
    return {};
  }
}
