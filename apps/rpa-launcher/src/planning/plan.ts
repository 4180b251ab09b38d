import { type ExecutionInput, hostOf } from '../execution/record.ts';
import { type Candidate, candidates, dueSlots, PlanIndex } from './candidates.ts';
import { type Device, type OpenExecution, type PlanInput, pairKey } from './model.ts';

/** What a deploy cycle shall do, and why not more. */
export interface Plan {
  /** Slots that get a job now, whether they can be deployed or not (S-92). */
  readonly starts: readonly ExecutionInput[];
  /** In this order, at most one a device (L-21). */
  readonly deploys: readonly Deploy[];
  /** Jobs that wait, and why. */
  readonly waits: readonly Verdict[];
  /** Repeated ones that nobody wants any more. */
  readonly leftOut: readonly { readonly jobId: string; readonly reason: string }[];
}

export interface Deploy {
  readonly jobId: string | null;
  readonly input: ExecutionInput;
  readonly attempt: number;
  readonly device: Device;
  /** A run there is UNKNOWN and was let go of: the Control Room says first whether it still runs (S-89). */
  readonly asksFirst: boolean;
}

export interface Verdict {
  readonly jobId: string | null;
  readonly input: ExecutionInput;
  readonly reason: string;
}

const rank: Readonly<Record<ExecutionInput['origin'], number>> = {
  manual: 0,
  programada: 1,
  ciclica: 1,
  online: 2,
};

/** ObtenerRobotsEjecutables, without any database: who is deployed now, and who is not and why. */
export function plan(input: PlanInput): Plan {
  const index = new PlanIndex(input);
  const starts = dueSlots(input, index);
  const devices = new DeviceStates(input, index);
  const paused = (input.pause?.at(input.now) ?? null) !== null;
  const deploys: Deploy[] = [];
  const waits: Verdict[] = [];
  const leftOut: { jobId: string; reason: string }[] = [];
  for (const candidate of candidates(input, index, starts).sort(inOrder)) {
    const { jobId, input: words, attempt, problem } = candidate;
    const device = index.byHost.get(hostOf(words.device));
    const reason =
      problem ??
      devices.problemOf(device) ??
      backOff(input, words) ??
      (paused ? 'deployments pause' : null) ??
      (input.now > words.endsAt ? 'its window is over' : null);
    if (reason === null && device !== undefined) {
      devices.take(device, `${words.robot} goes first`);
      deploys.push({ jobId, input: words, attempt, device, asksFirst: devices.asksFirst(device) });
    } else if (jobId !== null && problem !== null && isRepeated(words)) {
      leftOut.push({ jobId, reason: problem });
    } else {
      waits.push({ jobId, input: words, reason: reason ?? 'the device is unknown' });
    }
  }
  return { starts, deploys, waits, leftOut };
}

function isRepeated({ origin }: ExecutionInput): boolean {
  return origin === 'online' || origin === 'ciclica';
}

function inOrder(one: Candidate, other: Candidate): number {
  return (
    rank[one.input.origin] - rank[other.input.origin] ||
    one.priority - other.priority ||
    (one.input.hour ?? '').localeCompare(other.input.hour ?? '') ||
    one.input.startsAt - other.input.startsAt ||
    one.input.robotId - other.input.robotId
  );
}

function backOff({ failures, now }: PlanInput, { robotId, device }: ExecutionInput): string | null {
  const failure = failures.get(pairKey(robotId, device));
  if (failure === undefined || failure.notBefore <= now) return null;
  return `it failed here before, and waits: ${failure.reason}`;
}

/** What speaks against a device: its switches, its connection, what runs there. */
class DeviceStates {
  readonly #taken = new Map<string, string>();
  readonly #letGo = new Set<string>();
  readonly #closedPools: ReadonlySet<number>;
  readonly #knowsConnections: boolean;
  readonly #index: PlanIndex;

  constructor({ open, pools, knowsConnections }: PlanInput, index: PlanIndex) {
    this.#index = index;
    this.#closedPools = new Set(pools.filter((one) => one.Activo !== 1).map((one) => one.PoolId));
    this.#knowsConnections = knowsConnections;
    for (const one of open) this.#add(one);
  }

  #add(one: OpenExecution): void {
    const { id, state, isQuarantined, record } = one;
    if (state === 'PENDIENTE' && !isQuarantined) return;
    const { robot } = one.input;
    const host = this.#hostOf(one);
    if (record.isReleased) this.#letGo.add(host);
    else this.#taken.set(host, `${robot} is ${state} there (${id})`);
  }

  /** A host that was renamed is found by its id: what runs there runs there still. */
  #hostOf({ input: { device, deviceId }, record }: OpenExecution): string {
    const { byHost, devices } = this.#index;
    const host = hostOf(device);
    if (byHost.has(host)) return host;
    return hostOf(devices.get(record.deviceId ?? deviceId)?.Equipo ?? device);
  }

  problemOf(device: Device | undefined): string | null {
    if (device === undefined) return 'the device is unknown';
    if (device.Activo_SAM !== 1) return 'the device is switched off';
    if (device.PoolId !== null && this.#closedPools.has(device.PoolId))
      return 'the pool of the device is not active';
    const taken = this.#taken.get(hostOf(device.Equipo));
    if (taken !== undefined) return taken;
    if (this.#knowsConnections && device.Conectado !== 1)
      return `the device is not connected (${device.EstadoA360 ?? 'no state'})`;
    return null;
  }

  take(device: Device, reason: string): void {
    this.#taken.set(hostOf(device.Equipo), reason);
  }

  asksFirst(device: Device): boolean {
    return this.#letGo.has(hostOf(device.Equipo));
  }
}

export const notConnected = 'the device is not connected';
