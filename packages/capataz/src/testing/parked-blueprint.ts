import { type Blueprint, blueprint } from '../core/blueprint.ts';

/** Parked by its first run, and by each further one. */
export const parkedBlueprint: Blueprint = blueprint({
  name: 'parked',
  version: 1,
  states: {
    work: {
      start: true,
      end: true,
      retry: { max: 0, then: 'quarantine' },
      run: async () => {
        throw new Error('no luck');
      },
    },
  },
});
