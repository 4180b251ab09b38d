import type { Alert, AlertKind } from '../alerts/contract.ts';
import { hostOf } from '../execution/record.ts';
import { type OpenExecution, pairKey } from '../planning/model.ts';
import type { ToSignal } from './executions.ts';
import type { LauncherWorld } from './world.ts';

/** In a queue for longer than this, and nothing else of its robot there: nobody will start it. */
const queuedMs = 5 * 60_000;
/** Late is half as long again as usual, at least this; without enough runs to tell, `unusualMs`. */
const leastLateMs = 10 * 60_000;
const unusualMs = 25 * 60_000;
const usualRuns = 5;
const missesBeforeAlert = 5;

/** Tells people of runs that are late, lost or stuck (S-94, LH-8, LH-14). What is over is cleared. */
export class RunWatch {
  readonly #world: LauncherWorld;
  readonly #raised = new Map<string, readonly [AlertKind, string]>();

  constructor(world: LauncherWorld) {
    this.#world = world;
  }

  async look(running: readonly OpenExecution[], told: readonly ToSignal[]): Promise<void> {
    const { alerts, clock } = this.#world;
    const now = clock.now();
    const ended = new Set(told.flatMap((one) => (isEnd(one) ? one.jobId : [])));
    const rest = running.filter(({ id }) => !ended.has(id));
    const usual = await this.#usual(rest);
    const all = rest.flatMap((one) => [
      ...late(one, usual.get(one.input.robotId), now),
      ...orphaned(one, rest, now),
      ...unknown(one),
      ...missing(one),
    ]);
    const raised = new Set<string>();
    for (const alert of all) {
      const id = `${alert.kind}/${alert.key}`;
      raised.add(id);
      this.#raised.set(id, [alert.kind, alert.key]);
      await alerts.raise(alert);
    }
    for (const [id, [kind, key]] of this.#raised) {
      if (raised.has(id)) continue;
      this.#raised.delete(id);
      await alerts.clear(kind, key);
    }
  }

  /** Average durations of robots that run now, from runs that ended well. */
  async #usual(running: readonly OpenExecution[]): Promise<ReadonlyMap<number, number>> {
    const robots = [...new Set(running.map(({ input }) => input.robotId))];
    if (robots.length === 0) return new Map();
    const rows = await this.#world.db
      .selectFrom('Ejecuciones')
      .select(({ fn, eb }) => [
        'RobotId',
        fn.countAll<number>().as('runs'),
        fn.avg<number>(eb('FechaFinUtc', '-', eb.ref('FechaInicioUtc'))).as('average'),
      ])
      .where('RobotId', 'in', robots)
      .where('Estado', 'in', ['COMPLETED', 'RUN_COMPLETED'])
      .groupBy('RobotId')
      .execute();
    return new Map(
      rows.flatMap(({ RobotId, runs, average }) =>
        Number(runs) >= usualRuns ? [[RobotId, Number(average)] as const] : [],
      ),
    );
  }
}

function isEnd({ name, data }: ToSignal): boolean {
  return name === 'conciliado' && 'endedAt' in data && data.endedAt !== null;
}

function factsOf({ id, state, input, record }: OpenExecution): NonNullable<Alert['facts']> {
  const { robot, device } = input;
  return { robot, equipo: device, estado: state, despliegue: record.deploymentId, trabajo: id };
}

function late(one: OpenExecution, averageMs: number | undefined, now: number): Alert[] {
  const limitMs = averageMs === undefined ? unusualMs : Math.max(leastLateMs, averageMs * 1.5);
  const { deployedAt, startedAt } = one.record;
  const begun = startedAt ?? deployedAt ?? now;
  if (one.state !== 'RUNNING' || now - begun <= limitMs) return [];
  const minutes = Math.round((now - begun) / 60_000);
  const message = `${one.input.robot} runs on ${one.input.device} for ${minutes} min, longer than usual`;
  return [{ kind: 'run_late', key: one.id, message, facts: factsOf(one) }];
}

function orphaned(one: OpenExecution, running: readonly OpenExecution[], now: number): Alert[] {
  if (one.state !== 'QUEUED' || now - one.enteredAt <= queuedMs) return [];
  const isFollowed = running.some(
    (other) =>
      other.id !== one.id &&
      pairKey(other.input.robotId, other.input.device) ===
        pairKey(one.input.robotId, one.input.device) &&
      (other.record.deployedAt ?? 0) > (one.record.deployedAt ?? 0),
  );
  if (isFollowed) return [];
  const message = `${one.input.robot} stands in the queue of ${one.input.device} and is not started`;
  return [{ kind: 'run_orphan', key: one.id, message, facts: factsOf(one) }];
}

function unknown(one: OpenExecution): Alert[] {
  if (!one.record.isReleased) return [];
  const { robot, device } = one.input;
  const message = `the state of ${robot} on ${device} stays unknown; the device is free for others once the Control Room shows it idle`;
  return [{ kind: 'run_unknown', key: hostOf(device), message, facts: factsOf(one) }];
}

function missing(one: OpenExecution): Alert[] {
  const { misses, deploymentId } = one.record;
  if (one.state === 'UNKNOWN' || misses < missesBeforeAlert || deploymentId === null) return [];
  const { robot, device } = one.input;
  const message = `the Control Room has not known the deployment of ${robot} on ${device} for ${misses} cycles`;
  return [{ kind: 'run_not_found', key: deploymentId, message, facts: factsOf(one) }];
}
