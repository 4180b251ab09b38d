import { type Activity, ControlRoomError } from '../control-room/contract.ts';
import { automationName } from '../execution/record.ts';
import type { OpenExecution } from '../planning/model.ts';
import type { ToSignal } from './executions.ts';
import type { LauncherWorld } from './world.ts';

/** Between two look-ups of one deployment: three of them take the 180 s of S-91. */
const everyMs = 90_000;
/** What is not resolved by then is told. */
const patienceMs = 600_000;
/** The Control Room's clock may be behind ours. */
const skewMs = 60_000;
const ourName = /^capataz-/;

/** Finds out what became of deploy calls whose outcome nobody knows (S-84, S-91). Nothing else resolves them. */
export class LookUps {
  readonly #world: LauncherWorld;
  readonly #told = new Set<string>();

  constructor(world: LauncherWorld) {
    this.#world = world;
  }

  /** @returns whether anything was learned */
  async resolve(open: readonly OpenExecution[]): Promise<boolean> {
    const unknown = open.filter(({ state }) => state === 'SIN_CONFIRMAR');
    const claimed = new Set(open.flatMap(({ record }) => record.deploymentId ?? []));
    const { now } = { now: this.#world.clock.now() };
    const due = unknown.filter(({ record }) => now - (record.lastAbsenceAt ?? 0) >= everyMs);
    const learned: ToSignal[] = [];
    for (const one of due) {
      const signal = await this.#lookUp(one, claimed);
      if (signal !== null) learned.push(signal);
    }
    await this.#world.executions.tell(learned);
    await this.#alert(unknown, now);
    return learned.length > 0;
  }

  async #lookUp(one: OpenExecution, claimed: Set<string>): Promise<ToSignal | null> {
    const { controlRoom, clock, log } = this.#world;
    const { id: jobId, input, record } = one;
    const at = clock.now();
    try {
      const since = (record.orderedAt ?? at) - skewMs - Math.abs(controlRoom.clockSkewMs() ?? 0);
      const runs = await controlRoom.activities({ robotId: input.robotId, since });
      const run = runs.find((activity) => isRunOf(one, activity, claimed));
      if (run?.deploymentId == null) return { jobId, name: 'ausente', data: { at } };
      claimed.add(run.deploymentId);
      const { deploymentId, startedAt } = run;
      log.warn('a deployment whose answer was lost was found', { job: jobId, deploymentId });
      return { jobId, name: 'encontrado', data: { deploymentId, startedAt, at } };
    } catch (error) {
      if (!(error instanceof ControlRoomError)) throw error;
      log.warn('a deployment could not be looked up', { job: jobId, error });
      return null;
    }
  }

  async #alert(unknown: readonly OpenExecution[], now: number): Promise<void> {
    const { alerts } = this.#world;
    const late = unknown.filter(({ record }) => now - (record.orderedAt ?? now) >= patienceMs);
    for (const { id, input, record } of late) {
      this.#told.add(id);
      await alerts.raise({
        kind: 'deployment_unresolved',
        key: id,
        message: `nobody knows whether ${input.robot} was deployed on ${input.device}: the device stays held`,
        facts: { robot: input.robot, equipo: input.device, motivo: record.reason, trabajo: id },
      });
    }
    const still = new Set(late.map(({ id }) => id));
    for (const id of [...this.#told].filter((one) => !still.has(one))) {
      this.#told.delete(id);
      await alerts.clear('deployment_unresolved', id);
    }
  }
}

/** By the name that we gave it; where the Control Room gave another one, by device or user and time. */
function isRunOf(
  { id, record, input }: OpenExecution,
  run: Activity,
  claimed: ReadonlySet<string>,
): boolean {
  if (run.deploymentId === null || claimed.has(run.deploymentId)) return false;
  if (run.automationName !== null && ourName.test(run.automationName))
    return run.automationName === automationName(id, record.attempt);
  const deviceId = record.deviceId ?? input.deviceId;
  return run.deviceId === deviceId || (run.userId !== null && run.userId === record.userId);
}
