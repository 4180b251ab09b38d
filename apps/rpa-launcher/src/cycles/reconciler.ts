import type { Activity } from '../control-room/contract.ts';
import {
  isActive,
  isFinal,
  type ReportedState,
  reportedState,
  weightOf,
} from '../execution/states.ts';
import type { OpenExecution } from '../planning/model.ts';
import { tidyExecutions } from '../tables/projection.ts';
import type { ToSignal } from './executions.ts';
import { RunWatch } from './run-watch.ts';
import type { LauncherWorld } from './world.ts';

export interface ReconcileResult {
  readonly asked: number;
  readonly changed: number;
  readonly missing: number;
  readonly failed: number;
}

/** A sighting that says nothing new is stored only now and then: the tolerance counts in days. */
const sightingMs = 3_600_000;

/** Asks the Control Room what became of every run that has not ended (spec 3.3). */
export class Reconciler {
  readonly #world: LauncherWorld;
  readonly #watch: RunWatch;

  constructor(world: LauncherWorld) {
    this.#world = world;
    this.#watch = new RunWatch(world);
  }

  async run(): Promise<ReconcileResult> {
    const { executions, controlRoom, db, clock, settings } = this.#world;
    const open = await executions.open();
    const running = open.filter(({ state }) => isActive(state) || state === 'UNKNOWN');
    const ids = running.flatMap(({ record }) => record.deploymentId ?? []);
    const { found, answered, failures } = await controlRoom.activitiesOf(ids);
    for (const { deploymentIds, message } of failures)
      this.#world.log.error('a batch of deployments could not be asked about', {
        deployments: deploymentIds.length,
        reason: message,
      });
    const runs = groupedByDeployment(found);
    const isAnswered = new Set(answered);
    const signals = running.flatMap((one) => {
      const { deploymentId } = one.record;
      if (deploymentId === null) return [];
      const activities = runs.get(deploymentId);
      if (activities !== undefined) return this.#reported(one, activities);
      return isAnswered.has(deploymentId) ? [this.#missing(one)] : [];
    });
    const told = await executions.tell(signals);
    await this.#watch.look(running, signals);
    await tidyExecutions(db, {
      now: clock.now(),
      moveAfterMs: settings.historyAfterMs,
      keepMs: settings.historyForMs,
    });
    return {
      asked: ids.length,
      changed: told.filter((one) => one === 'taken').length,
      missing: signals.filter(({ name }) => name === 'no_encontrado').length,
      failed: failures.length,
    };
  }

  /** @returns nothing where nothing is new: a cycle that changes nothing writes nothing (S-90) */
  #reported({ id: jobId, state, record }: OpenExecution, activities: Activity[]): ToSignal[] {
    const at = this.#world.clock.now();
    const said = this.#worst(jobId, activities);
    if (said === null) return [];
    const { status, startedAt, endedAt } = said;
    const isNews =
      status !== state ||
      status === 'UNKNOWN' ||
      record.misses > 0 ||
      (startedAt !== null && startedAt !== record.startedAt) ||
      at - (record.lastSeenAt ?? 0) >= sightingMs;
    if (!isNews) return [];
    return [{ jobId, name: 'conciliado', data: { status, startedAt, endedAt, at } }];
  }

  #worst(jobId: string, activities: readonly Activity[]) {
    let worst: { status: ReportedState; startedAt: number | null; endedAt: number | null } | null =
      null;
    for (const { status: word, startedAt, endedAt } of activities) {
      const status = reportedState(word);
      if (status === null) {
        this.#world.log.warn(`the Control Room says "${word}", which nobody knows`, { job: jobId });
        continue;
      }
      if (worst === null || weightOf(status) > weightOf(worst.status))
        worst = { status, startedAt, endedAt: isFinal(status) ? endedAt : null };
    }
    return worst;
  }

  #missing({ id: jobId, record }: OpenExecution): ToSignal {
    const { inferenceAttempts } = this.#world.settings;
    const isInferred = inferenceAttempts > 0 && record.misses + 1 >= inferenceAttempts;
    return { jobId, name: 'no_encontrado', data: { at: this.#world.clock.now(), isInferred } };
  }
}

function groupedByDeployment(found: readonly Activity[]): Map<string, Activity[]> {
  const runs = new Map<string, Activity[]>();
  for (const activity of found) {
    if (activity.deploymentId === null) continue;
    const list = runs.get(activity.deploymentId);
    if (list === undefined) runs.set(activity.deploymentId, [activity]);
    else list.push(activity);
  }
  return runs;
}
