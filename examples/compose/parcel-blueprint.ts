import { createHmac } from 'node:crypto';
import {
  approval,
  type BranchResult,
  blueprint,
  child,
  dispatch,
  holding,
  type JsonObject,
  parallel,
  stay,
  transition,
  waitFor,
} from 'capataz';
import { z } from 'zod';

const vanLimit = 200;
/** What a parcel takes of the vans until it is weighed. */
const heaviest = 50;
const heavy = 20;

/** How the vans find a parcel that is under way. */
export function parcelKey(job: string): string {
  return `parcel:${job}`;
}

/** From the label to the door; the vans are `drive.ts`, the scales `worker.ts`. */
export const parcel = blueprint({
  name: 'parcel',
  version: 1,
  input: z.object({ weight: z.number().positive().max(heaviest) }),
  states: {
    label: {
      start: true,
      to: ['check'],
      run: async (job) => {
        const signature = await job.step('sign', () =>
          createHmac('sha256', String(job.stores.labelKey)).update(job.id).digest('hex'),
        );
        await job.files.upload('label.txt', `${job.id}\n${signature}\n`);
        return transition('check');
      },
    },
    check: {
      fanOut: true,
      to: ['weighed'],
      handle: (job) =>
        holding(
          parallel([
            dispatch('weigh', { weight: job.input.weight }, { on: { success: 'weighed' } }),
            dispatch('inspect', { job: job.id }, { on: { success: 'weighed' } }),
          ]),
          { reserve: [{ key: 'vans', amount: heaviest, limit: vanLimit }] },
        ),
    },
    weighed: {
      aggregate: true,
      to: ['ask', 'book'],
      handle: (job) => {
        const weight = weightIn(job.results);
        job.data.weight = weight;
        return transition(weight > heavy ? 'ask' : 'book');
      },
    },
    ask: {
      to: ['book', 'refused'],
      handle: (job) =>
        approval({
          message: `Take a parcel of ${job.data.weight} kg?`,
          show: { weight: Number(job.data.weight) },
          on: { approved: 'book', rejected: 'refused', timeout: 'refused' },
          deadline: '1d',
        }),
    },
    book: {
      to: ['travels', 'refused'],
      handle: (job) =>
        holding(
          child(
            'invoice',
            { parcel: job.id, weight: Number(job.data.weight) },
            { on: { success: 'travels', failure: 'refused' } },
          ),
          {
            // Only now it is known how much of the vans it needs: the rest is free for others.
            settle: [{ key: 'vans', amount: Number(job.data.weight) }],
            keys: [parcelKey(job.id)],
          },
        ),
    },
    travels: {
      to: ['delivered', 'refused'],
      on: {
        scanned: stay((data, { data: place }) => {
          data.places = [...places(data), place];
        }),
        delivered: 'delivered',
      },
      handle: () => waitFor({ on: { timeout: 'refused' }, deadline: '30d' }),
    },
    delivered: { end: true },
    refused: { end: 'failed' },
  },
});

function places(data: JsonObject) {
  return Array.isArray(data.places) ? data.places : [];
}

function weightIn(results: Readonly<Record<string, BranchResult>> | null): number {
  for (const { skill, data } of Object.values(results ?? {})) {
    // What the worker says of a weighing is `{ weight }`.
    if (skill === 'weigh') return Number((data as JsonObject).weight);
  }
  throw new Error('nobody has weighed it');
}
