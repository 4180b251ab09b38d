import type { DeployOutcome } from '../control-room/contract.ts';
import type { ExecutionInput } from '../execution/record.ts';
import { missedSlots, PlanIndex } from '../planning/candidates.ts';
import { type OpenExecution, type PlanInput, pairKey, slotKey } from '../planning/model.ts';
import { type Deploy, type Plan, plan } from '../planning/plan.ts';
import { lastCycle } from '../tables/cycles.ts';
import { readPlanTables } from '../tables/plan-tables.ts';
import type { Connections } from './connections.ts';
import { DeployBatches } from './deploy-batches.ts';
import type { LookUps } from './look-ups.ts';
import { removeBadAssignments } from './removals.ts';
import type { Stops } from './stops.ts';
import type { LauncherWorld } from './world.ts';

export interface DeployResult {
  readonly isPaused: boolean;
  readonly started: number;
  readonly deployed: number;
  readonly failed: number;
  readonly waiting: number;
}

/** Further back than this nobody wants to hear of slots that went by unseen. */
const longestAbsenceMs = 7 * 86_400_000;
const mostMissed = 500;

export interface DeployerParts {
  readonly connections: Connections;
  readonly lookUps: LookUps;
  readonly stops: Stops;
}

/** One cycle: what is due gets its job, and what may run now is deployed (spec 3.2). */
export class Deployer {
  readonly #world: LauncherWorld;
  readonly #parts: DeployerParts;
  /** Slots whose job was started by this process, until their window is over. */
  readonly #started = new Map<string, number>();

  constructor(world: LauncherWorld, parts: DeployerParts) {
    this.#world = world;
    this.#parts = parts;
  }

  async run(signal: AbortSignal): Promise<DeployResult> {
    const { executions, log } = this.#world;
    let open = await executions.open();
    if (await this.#parts.lookUps.resolve(open)) open = await executions.open();
    await this.#parts.stops.ask(open);
    let input = await this.#read(open);
    await this.#lookBack(input);
    let now = plan(input);
    await this.#start(now.starts);
    if (now.starts.length > 0) {
      input = await this.#read(await executions.open());
      now = plan(input);
    }
    if (await this.#parts.connections.refresh(now.waits)) {
      input = await this.#read(input.open);
      now = plan(input);
    }
    await this.#tellWhy(now, input.open);
    const isPaused = (input.pause?.at(input.now) ?? null) !== null;
    if (isPaused) log.info('En ventana de pausa: no se despliega nada');
    else if (now.deploys.length === 0) log.debug('No hay robots ejecutables');
    const results = await this.#deploy(now.deploys, input, signal);
    const deployed = results.filter(({ outcome }) => outcome.outcome === 'accepted').length;
    return {
      isPaused,
      started: now.starts.length,
      deployed,
      failed: results.length - deployed,
      waiting: now.waits.length,
    };
  }

  async planNow(): Promise<{ readonly input: PlanInput; readonly plan: Plan }> {
    const input = await this.#read(await this.#world.executions.open());
    return { input, plan: plan(input) };
  }

  async #read(open: readonly OpenExecution[]): Promise<PlanInput> {
    const { db, clock, settings, rules } = this.#world;
    const tables = await readPlanTables(db);
    const now = clock.now();
    for (const [key, endsAt] of this.#started) if (endsAt < now) this.#started.delete(key);
    return {
      ...tables,
      ...{ now, open, zone: settings.zone, pause: rules.pause },
      knowsConnections: settings.isSyncEnabled,
      started: new Set(this.#started.keys()),
    };
  }

  /** What went by since the last cycle that worked, whichever launcher's, is told. */
  async #lookBack(input: PlanInput): Promise<void> {
    const last = await lastCycle(this.#world.db, 'desplegador');
    if (last === null) return;
    const after = Math.max(last.InicioUtc, input.now - longestAbsenceMs);
    const missed = missedSlots(input, new PlanIndex(input), { after, limit: mostMissed });
    await this.#start(missed);
  }

  async #start(inputs: readonly ExecutionInput[]): Promise<void> {
    await this.#world.executions.start(inputs);
    for (const input of inputs) this.#started.set(slotKey(input), input.endsAt);
  }

  /** Only what is news to the job is written. */
  async #tellWhy({ waits, leftOut }: Plan, open: readonly OpenExecution[]): Promise<void> {
    const known = new Map(open.map((one) => [one.id, one.record.reason]));
    const news = waits.flatMap(({ jobId, reason }) =>
      jobId === null || known.get(jobId) === reason
        ? []
        : [{ jobId, name: 'espera' as const, data: { reason } }],
    );
    const gone = leftOut.map(({ jobId, reason }) => ({
      jobId,
      name: 'omitir' as const,
      data: { reason },
    }));
    await this.#world.executions.tell([...news, ...gone]);
  }

  async #deploy(
    deploys: readonly Deploy[],
    input: PlanInput,
    signal: AbortSignal,
  ): Promise<readonly { readonly outcome: DeployOutcome }[]> {
    if (deploys.length === 0) return [];
    const { callbacks, rules, clock, isOnTurn } = this.#world;
    const robots = new Map(input.robots.map((robot) => [robot.RobotId, robot.Parametros]));
    const batches = new DeployBatches(this.#world, {
      callbackOf: callbacks === null ? null : await callbacks.prepare(),
      parametersOf: (robotId) => robots.get(robotId) ?? null,
      hasFailed: ({ input: { robotId, device } }) => input.failures.has(pairKey(robotId, device)),
      // The pause may begin, the turn end, and a stop come while a cycle is at it (LH-6, LH-20, LH-24).
      mayCall: () =>
        !signal.aborted && isOnTurn() && (rules.pause?.at(clock.now()) ?? null) === null,
    });
    const results = await batches.run(deploys, signal);
    await removeBadAssignments(this.#world, results);
    return results;
  }
}
