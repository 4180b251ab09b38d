import { blueprint, finish } from 'capataz';
import { z } from 'zod';
import { parcelsIn } from './parcels.ts';

/** The child of a parcel: writes its invoice, once. */
export const invoice = blueprint({
  name: 'invoice',
  version: 1,
  input: z.object({ parcel: z.string(), weight: z.number() }),
  states: {
    write: {
      start: true,
      end: true,
      run: async (job) => {
        const { parcel, weight } = job.input;
        const number = await job.step('number', () => parcelsIn(job.stores).invoiceNumber(parcel));
        return finish({ number, price: 5 + weight });
      },
    },
  },
});
