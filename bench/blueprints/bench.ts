import { blueprint, dispatch } from 'capataz';

/** One task that does nothing: what is left is the orchestrator. */
const oneStep = blueprint({
  name: 'one-step',
  version: 1,
  states: {
    work: {
      start: true,
      to: ['done'],
      handle: (job) => dispatch('noop', { job: job.id }, { on: { success: 'done' } }),
    },
    done: { end: true },
  },
});

const threeStep = blueprint({
  name: 'three-step',
  version: 1,
  states: {
    first: {
      start: true,
      to: ['second'],
      handle: () => dispatch('noop', { step: 1 }, { on: { success: 'second' } }),
    },
    second: {
      to: ['third'],
      handle: () => dispatch('noop', { step: 2 }, { on: { success: 'third' } }),
    },
    third: {
      to: ['done'],
      handle: () => dispatch('noop', { step: 3 }, { on: { success: 'done' } }),
    },
    done: { end: true },
  },
});

/** A task whose runs are counted outside the product, in the file that the input names. */
const counted = blueprint({
  name: 'counted',
  version: 1,
  states: {
    work: {
      start: true,
      to: ['done'],
      handle: (job) =>
        dispatch('counted', { job: job.id, ...(job.input as object) }, { on: { success: 'done' } }),
    },
    done: { end: true },
  },
});

/** Waits for a worker that never comes: the backlog of others. */
const stranded = blueprint({
  name: 'stranded',
  version: 1,
  states: {
    work: {
      start: true,
      to: ['done'],
      handle: () => dispatch('nobody', {}, { on: { success: 'done' } }),
    },
    done: { end: true },
  },
});

export default [oneStep, threeStep, counted, stranded];
