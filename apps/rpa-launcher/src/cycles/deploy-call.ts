import { delay } from 'capataz/server';
import type { Callback, DeployOutcome } from '../control-room/contract.ts';
import { automationName, hostOf } from '../execution/record.ts';
import type { Deploy } from '../planning/plan.ts';
import { addFailure, forgetFailures } from '../tables/failures.ts';
import { botInputFor } from './bot-input.ts';
import type { ToSignal } from './executions.ts';
import { type RefusalRule, refusalRules } from './refusals.ts';
import { type LauncherWorld, momentOf } from './world.ts';

/** A deployment whose job took the device: the next thing is the call. */
export interface Ordered extends Deploy {
  readonly jobId: string;
  /**
   * On the steady clock. What leaves later could be answered when the job has been given up, looked up and
   * deployed again (S-90): logins are slow, and processes are stopped and go on.
   */
  readonly leavesBefore: number;
}

/** What a call came to. */
export type CallResult =
  /** It may be tried again in this cycle, after the pause. */
  | { readonly type: 'again'; readonly afterMs: number; readonly outcome: DeployOutcome }
  | {
      readonly type: 'settled';
      readonly outcome: DeployOutcome;
      readonly rule: RefusalRule | null;
    };

export interface CycleScope {
  readonly callbackOf: ((jobId: string) => Callback) | null;
  /** Parameters of the robots, as JSON. */
  readonly parametersOf: (robotId: number) => string | null;
  readonly hasFailed: (deploy: Deploy) => boolean;
  /** Whether a call may be made at this very moment. */
  readonly mayCall: () => boolean;
}

/** Who asks for more than this gets it in a later cycle. */
const longestPauseMs = 30_000;

/** Makes one deploy call and tells the job what came of it. Every call ends in a result (LH-26). */
export class DeployCall {
  readonly #world: LauncherWorld;
  readonly #scope: CycleScope;

  constructor(world: LauncherWorld, scope: CycleScope) {
    this.#world = world;
    this.#scope = scope;
  }

  /** @param attempt within this cycle, from 1 */
  async make(deploy: Ordered, attempt: number): Promise<CallResult> {
    const { settings, log } = this.#world;
    const outcome = await this.#call(deploy);
    const { jobId, input, device } = deploy;
    const place = `(Intento ${attempt}/${settings.deployAttempts})`;
    const words = `Robot ${input.robotId} en Equipo ${device.EquipoId} ${place}`;
    const fields = { job: jobId, robot: input.robotId, equipo: device.Equipo };
    if (outcome.outcome === 'accepted') {
      const { deploymentId } = outcome;
      log.info(
        `Robot ${input.robotId} desplegado con ID: ${deploymentId} en Equipo ${device.EquipoId} ${place}`,
        fields,
      );
      return { type: 'settled', outcome, rule: null };
    }
    const rule = outcome.outcome === 'refused' ? refusalRules[outcome.reason] : null;
    const mayRetry = rule?.retries ?? outcome.outcome === 'unsent';
    const asked = 'retryAfterMs' in outcome ? (outcome.retryAfterMs ?? 0) : 0;
    if (mayRetry && attempt < settings.deployAttempts && asked <= longestPauseMs) {
      log.warn(`${words}: ${outcome.message}; se reintenta`, fields);
      return { type: 'again', afterMs: Math.max(settings.deployRetryDelayMs, asked), outcome };
    }
    const isTemporary = rule === null || rule.retries;
    log[isTemporary ? 'warn' : 'error'](`${words}: ${outcome.message}`, fields);
    return { type: 'settled', outcome, rule };
  }

  async #call({ jobId, input, attempt, device, leavesBefore }: Ordered): Promise<DeployOutcome> {
    const { controlRoom, settings, log, clock } = this.#world;
    const { callbackOf, parametersOf, mayCall } = this.#scope;
    const onProblem = (error: unknown): void =>
      log.error('these parameters of a robot are no bot input', { robot: input.robotId, error });
    try {
      return await controlRoom.deploy({
        robotId: input.robotId,
        userId: device.UserId,
        automationName: automationName(jobId, attempt),
        botInput: botInputFor(input.botInput, parametersOf(input.robotId), {
          rounds: settings.botInputRounds,
          onProblem,
        }),
        callback: callbackOf?.(jobId) ?? null,
        mayLeave: () => clock.steady() < leavesBefore && mayCall(),
      });
    } catch (error) {
      // It never throws; if it does all the same, nobody knows whether the call was sent.
      const message = error instanceof Error ? error.message : String(error);
      return { outcome: 'ambiguous', status: null, message, retryAfterMs: null };
    }
  }

  /** What the job is told. */
  signalOf({ jobId, attempt }: Ordered, outcome: DeployOutcome): ToSignal {
    const { clock } = this.#world;
    const at = clock.now();
    if (outcome.outcome === 'accepted') {
      const { deploymentId } = outcome;
      return { jobId, name: 'desplegado', data: { attempt, deploymentId, at } };
    }
    const reason = outcome.message;
    if (outcome.outcome === 'ambiguous')
      return { jobId, name: 'sin_confirmar', data: { attempt, reason } };
    if (outcome.outcome === 'refused' && refusalRules[outcome.reason].isFinal)
      return { jobId, name: 'rechazado', data: { attempt, reason, at } };
    return { jobId, name: 'pospuesto', data: { attempt, reason } };
  }

  async succeeded({ input, device, ...deploy }: Ordered): Promise<void> {
    const { db, alerts } = this.#world;
    const host = hostOf(device.Equipo);
    await alerts.clear('device_unavailable', host);
    await alerts.clear('bad_request', host);
    await alerts.clear('runner_session', host);
    await alerts.clear('deploy_refused', String(input.robotId));
    await alerts.clear('user_without_device', String(device.UserId));
    if (this.#scope.hasFailed({ input, device, ...deploy }))
      await forgetFailures(db, { robotId: input.robotId, device: device.Equipo });
  }

  /** Tells people, and keeps robot and device apart for a while. */
  async failed({ input, device }: Ordered, outcome: DeployOutcome, rule: RefusalRule | null) {
    if (outcome.outcome !== 'refused' || rule === null) return;
    const { db, alerts } = this.#world;
    const { now } = momentOf(this.#world);
    const { robotId, robot } = input;
    if (rule.alert !== null) {
      const keys = { device: hostOf(device.Equipo), robot: robotId, user: device.UserId };
      await alerts.raise({
        kind: rule.alert.kind,
        key: String(keys[rule.alert.about]),
        message: `${robot} could not be deployed on ${device.Equipo}: ${outcome.message}`,
        facts: {
          robot,
          robotId,
          equipo: device.Equipo,
          usuario: device.UserId,
          estado: outcome.status,
        },
      });
    }
    const pauseMs = outcome.retryAfterMs ?? 0;
    if (rule.backsOff || pauseMs > 0) {
      const where = { robotId, device: device.Equipo };
      await addFailure(db, where, { now, reason: outcome.message, atLeastMs: pauseMs });
    }
    if (rule.suspends)
      await db.updateTable('Robots').set({ Activo: 0 }).where('RobotId', '=', robotId).execute();
  }

  async pause(ms: number, signal: AbortSignal): Promise<void> {
    await delay(this.#world.clock, ms, signal);
  }
}
