import { type Activity, ControlRoomError } from '../control-room/contract.ts';
import { automationName } from '../execution/record.ts';
import type { OpenExecution } from '../planning/model.ts';
import { knownDeployments } from '../tables/projection.ts';
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
  /** When a look-up was not answered last: those come last the next time. */
  readonly #unanswered = new Map<string, number>();

  constructor(world: LauncherWorld) {
    this.#world = world;
  }

  /** @returns whether anything was learned */
  async resolve(open: readonly OpenExecution[]): Promise<boolean> {
    const unknown = open.filter(({ state }) => state === 'SIN_CONFIRMAR');
    const claimed = new Set(open.flatMap(({ record }) => record.deploymentId ?? []));
    const now = this.#world.clock.now();
    const due = unknown
      .filter(({ record }) => now - (record.lastAbsenceAt ?? 0) >= everyMs)
      .toSorted((one, other) => this.#failedAt(one) - this.#failedAt(other));
    const learned: ToSignal[] = [];
    for (const one of due) {
      const signal = await this.#lookUp(one, claimed);
      if (signal === 'unreachable') {
        // The others would only wait as long, and with them everything that is to be deployed.
        this.#unanswered.set(one.id, now);
        break;
      }
      if (signal !== null) learned.push(signal);
    }
    const ids = new Set(unknown.map(({ id }) => id));
    for (const id of this.#unanswered.keys()) if (!ids.has(id)) this.#unanswered.delete(id);
    await this.#world.executions.tell(learned);
    await this.#alert(unknown, now);
    return learned.length > 0;
  }

  #failedAt({ id }: OpenExecution): number {
    return this.#unanswered.get(id) ?? 0;
  }

  async #lookUp(
    one: OpenExecution,
    claimed: Set<string>,
  ): Promise<ToSignal | 'unreachable' | null> {
    const { clock, log } = this.#world;
    const { id: jobId } = one;
    const at = clock.now();
    try {
      const run = await this.#runOf(one, claimed);
      if (run?.deploymentId == null) return { jobId, name: 'ausente', data: { at } };
      claimed.add(run.deploymentId);
      const { deploymentId, startedAt } = run;
      log.warn('a deployment whose answer was lost was found', { job: jobId, deploymentId });
      return { jobId, name: 'encontrado', data: { deploymentId, startedAt, at } };
    } catch (error) {
      if (!(error instanceof ControlRoomError)) throw error;
      log.warn('a deployment could not be looked up', { job: jobId, error });
      return error.kind === 'unreachable' ? 'unreachable' : null;
    }
  }

  /**
   * By the name that we gave it, whatever its time: clocks may differ by more than anybody knows. Where the
   * Control Room gave another one, by device or user and time; then it must be no earlier execution's.
   */
  async #runOf(one: OpenExecution, claimed: ReadonlySet<string>): Promise<Activity | null> {
    const { controlRoom, clock, db } = this.#world;
    const { id, input, record } = one;
    const runs = await controlRoom.activities({ robotId: input.robotId });
    const name = automationName(id, record.attempt);
    const named = runs.find((run) => run.deploymentId !== null && run.automationName === name);
    if (named !== undefined) return named;
    const since =
      (record.orderedAt ?? clock.now()) - skewMs - Math.abs(controlRoom.clockSkewMs() ?? 0);
    const others = runs.filter((run) => mayBe(one, run, since));
    const known = await knownDeployments(
      db,
      others.flatMap(({ deploymentId }) => deploymentId ?? []),
    );
    const run = others.find(
      ({ deploymentId }) =>
        deploymentId !== null && !claimed.has(deploymentId) && !known.has(deploymentId),
    );
    return run ?? null;
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

/** Whether a run that bears no name of ours may be this one's. */
function mayBe({ record, input }: OpenExecution, run: Activity, since: number): boolean {
  if (run.automationName !== null && ourName.test(run.automationName)) return false;
  if (run.startedAt !== null && run.startedAt < since) return false;
  const deviceId = record.deviceId ?? input.deviceId;
  return run.deviceId === deviceId || (run.userId !== null && run.userId === record.userId);
}
