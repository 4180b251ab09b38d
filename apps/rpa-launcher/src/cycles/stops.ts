import { ControlRoomError } from '../control-room/contract.ts';
import type { OpenExecution } from '../planning/model.ts';
import type { LauncherWorld } from './world.ts';

/** Passes on to the Control Room what operators want stopped (S-94). */
export class Stops {
  readonly #world: LauncherWorld;

  constructor(world: LauncherWorld) {
    this.#world = world;
  }

  async ask(open: readonly OpenExecution[]): Promise<void> {
    for (const one of open) {
      try {
        await this.#askFor(one);
      } catch (error) {
        // The next cycle asks again; this one has others to deploy.
        if (!(error instanceof ControlRoomError)) throw error;
        this.#world.log.warn('a run could not be stopped', { job: one.id, error });
        if (error.kind === 'unreachable') return;
      }
    }
  }

  async #askFor({ id: jobId, record }: OpenExecution): Promise<void> {
    const { controlRoom, executions, log } = this.#world;
    const { stop, deploymentId } = record;
    if (stop === null || stop.isAsked || deploymentId === null) return;
    const answer = await controlRoom.stop(deploymentId);
    log.info('the Control Room was asked to stop a run', { job: jobId, outcome: answer.outcome });
    if (answer.outcome === 'refused') return;
    const reason =
      answer.outcome === 'asked'
        ? `stopped by ${stop.by}`
        : `${stop.by} wanted it stopped, and it does not run any more`;
    await executions.tell([{ jobId, name: 'parada', data: { reason } }]);
  }
}
