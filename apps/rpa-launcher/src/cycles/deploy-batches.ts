import type { DeployOutcome } from '../control-room/contract.ts';
import { ControlRoomError } from '../control-room/contract.ts';
import { hostOf } from '../execution/record.ts';
import { activeWords } from '../execution/states.ts';
import type { Deploy } from '../planning/plan.ts';
import { type CallResult, type CycleScope, DeployCall, type Ordered } from './deploy-call.ts';
import type { RefusalRule } from './refusals.ts';
import type { LauncherWorld } from './world.ts';

export interface Settled {
  readonly deploy: Ordered;
  readonly outcome: DeployOutcome;
  readonly rule: RefusalRule | null;
}

/** The calls of one deploy cycle, never more than the settings allow at once (L-26, L-27, S-88). */
export class DeployBatches {
  readonly #world: LauncherWorld;
  readonly #scope: CycleScope;
  readonly #call: DeployCall;
  readonly #settled: Settled[] = [];

  constructor(world: LauncherWorld, scope: CycleScope) {
    this.#world = world;
    this.#scope = scope;
    this.#call = new DeployCall(world, scope);
  }

  async run(deploys: readonly Deploy[], signal: AbortSignal): Promise<readonly Settled[]> {
    const { deployMode } = this.#world.settings;
    if (deployMode === 'lotes') await this.#strictly(deploys, signal);
    else await this.#sliding(deploys, signal);
    return this.#settled;
  }

  /** A batch begins when the one before has ended whole, retries and their delays included. */
  async #strictly(deploys: readonly Deploy[], signal: AbortSignal): Promise<void> {
    const { maxWorkers } = this.#world.settings;
    for (let at = 0; at < deploys.length; at += maxWorkers) {
      if (!this.#scope.mayCall()) return;
      const ordered = await this.#order(deploys.slice(at, at + maxWorkers));
      await Promise.all(ordered.map((one) => this.#untilSettled(one, signal)));
    }
  }

  async #untilSettled(first: Ordered, signal: AbortSignal): Promise<void> {
    let deploy = first;
    for (let attempt = 1; ; attempt += 1) {
      const result = await this.#guarded(deploy, attempt);
      if (result.type !== 'again') return;
      await this.#call.pause(result.afterMs, signal);
      const next = await this.#orderAgain(deploy, result);
      if (next === null) return;
      deploy = next;
    }
  }

  /** The next call begins when any ends; what is to be tried again stands in line anew. */
  async #sliding(deploys: readonly Deploy[], signal: AbortSignal): Promise<void> {
    const { maxWorkers } = this.#world.settings;
    const fresh = [...deploys];
    const again: { deploy: Ordered; attempt: number; result: CallResult; at: number }[] = [];
    const { clock } = this.#world;
    const worker = async (): Promise<void> => {
      for (;;) {
        if (!this.#scope.mayCall()) return this.#giveBack(again.splice(0));
        const next = fresh.shift();
        if (next !== undefined) {
          const [deploy] = await this.#order([next]);
          if (deploy === undefined) continue;
          const result = await this.#guarded(deploy, 1);
          if (result.type === 'again')
            again.push({ deploy, attempt: 1, result, at: clock.steady() + result.afterMs });
          continue;
        }
        const waiting = again.shift();
        if (waiting === undefined) return;
        await this.#call.pause(waiting.at - clock.steady(), signal);
        const deploy = await this.#orderAgain(waiting.deploy, waiting.result);
        if (deploy === null) continue;
        const attempt = waiting.attempt + 1;
        const result = await this.#guarded(deploy, attempt);
        if (result.type === 'again')
          again.push({ deploy, attempt, result, at: clock.steady() + result.afterMs });
      }
    };
    await Promise.all(Array.from({ length: maxWorkers }, worker));
  }

  async #giveBack(waiting: readonly { deploy: Ordered; result: CallResult }[]): Promise<void> {
    for (const { deploy, result } of waiting) {
      if (result.type === 'again') await this.#settle(deploy, result.outcome, null);
    }
  }

  /**
   * The intent is stored, and the device taken, before the call: jobs are started where there is none yet,
   * and all of a batch told in one commit. Whoever is refused was overtaken.
   */
  async #order(deploys: readonly Deploy[]): Promise<Ordered[]> {
    const { executions } = this.#world;
    const free = await this.#reallyFree(deploys);
    const fresh = free.filter(({ jobId }) => jobId === null);
    const ids = await executions.start(fresh.map(({ input }) => input));
    const idOf = new Map(fresh.map((deploy, index) => [deploy, ids[index] ?? null]));
    const jobs = free.flatMap((deploy) => {
      const jobId = deploy.jobId ?? idOf.get(deploy) ?? null;
      return jobId === null ? [] : [{ ...deploy, jobId, attempt: deploy.attempt + 1 }];
    });
    const leavesBefore = this.#leavesBefore();
    const told = await executions.tell(jobs.map(orderOf));
    return jobs.flatMap((job, index) => (told[index] === 'taken' ? { ...job, leavesBefore } : []));
  }

  /** A call that leaves before this has its answer or its time-out before its job is given up. */
  #leavesBefore(): number {
    const { clock, rules, settings } = this.#world;
    return clock.steady() + rules.answerMs - settings.apiTimeoutMs;
  }

  async #orderAgain(deploy: Ordered, result: CallResult) {
    if (!this.#scope.mayCall()) {
      if (result.type === 'again') await this.#settle(deploy, result.outcome, null);
      return null;
    }
    const next = { ...deploy, attempt: deploy.attempt + 1, leavesBefore: this.#leavesBefore() };
    const [told] = await this.#world.executions.tell([orderOf(next)]);
    return told === 'taken' ? next : null;
  }

  /** Where a run was let go of the Control Room says first whether it is still there (S-89). */
  async #reallyFree(deploys: readonly Deploy[]): Promise<Deploy[]> {
    const free: Deploy[] = [];
    for (const deploy of deploys) {
      if (!deploy.asksFirst || (await this.#isIdle(deploy))) free.push(deploy);
    }
    return free;
  }

  async #isIdle({ device, jobId }: Deploy): Promise<boolean> {
    const { controlRoom, alerts, executions, log } = this.#world;
    try {
      const query = { deviceId: device.EquipoId, statuses: activeWords };
      const [run] = await controlRoom.activities(query);
      if (run === undefined) return true;
      const reason = `the Control Room says that ${device.Equipo} is busy (${run.status})`;
      await alerts.raise({
        kind: 'run_unknown',
        key: hostOf(device.Equipo),
        message: reason,
        facts: { equipo: device.Equipo, despliegue: run.deploymentId, estado: run.status },
      });
      if (jobId !== null) await executions.tell([{ jobId, name: 'espera', data: { reason } }]);
      return false;
    } catch (error) {
      if (!(error instanceof ControlRoomError)) throw error;
      log.warn('a device could not be asked about: nothing is deployed there', {
        equipo: device.Equipo,
        error,
      });
      return false;
    }
  }

  /** What goes wrong with one row harms no other (LH-26). */
  async #guarded(deploy: Ordered, attempt: number): Promise<CallResult> {
    const result = await this.#call.make(deploy, attempt);
    if (result.type === 'settled') await this.#settle(deploy, result.outcome, result.rule);
    return result;
  }

  async #settle(deploy: Ordered, outcome: DeployOutcome, rule: RefusalRule | null): Promise<void> {
    const { executions, log } = this.#world;
    this.#settled.push({ deploy, outcome, rule });
    try {
      await executions.tell([this.#call.signalOf(deploy, outcome)]);
      if (outcome.outcome === 'accepted') await this.#call.succeeded(deploy);
      else await this.#call.failed(deploy, outcome, rule);
    } catch (error) {
      // The job stands in DESPLEGANDO, and a look-up says later what became of it.
      log.error('what came of a deploy call could not be stored', { job: deploy.jobId, error });
    }
  }
}

function orderOf({ jobId, attempt, device }: Omit<Ordered, 'leavesBefore'>) {
  const data = { attempt, deviceId: device.EquipoId, userId: device.UserId };
  return { jobId, name: 'desplegar' as const, data };
}
