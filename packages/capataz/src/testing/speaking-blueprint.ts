import { finish } from '../core/action.ts';
import { type Blueprint, blueprint } from '../core/blueprint.ts';

/** Emits events of these names, with its own id as payload, and ends. */
export function speakingBlueprint(exchange: string, ...names: readonly string[]): Blueprint {
  return blueprint({
    name: 'speaker',
    version: 1,
    states: {
      say: {
        start: true,
        end: true,
        handle: (job) => {
          for (const name of names) job.emit(exchange, name, { job: job.id });
          return finish();
        },
      },
    },
  });
}
