import { CapatazError } from 'capataz';
import { clientOf, ok, param, type Route } from 'capataz/server';
import { z } from 'zod';
import type { Parcels } from './parcels.ts';

const counts = z.record(z.string(), z.number());
const parcel = z.object({ job: z.uuid(), state: z.string(), scans: z.int() });

/** What the application's own tables say, over the server's HTTP. */
export function routes(parcels: Parcels): Route[] {
  return [
    {
      method: 'GET',
      path: '/parcels',
      area: 'client',
      operation: {
        id: 'countParcels',
        summary: 'How many jobs there are in which state',
        answers: { 200: { description: 'State → number', body: counts } },
      },
      handle: () => ok(parcels.counts()),
    },
    {
      method: 'GET',
      path: '/parcels/{job}',
      area: 'client',
      operation: {
        id: 'getParcel',
        summary: 'Where a parcel is',
        params: { job: 'Of the parcel.' },
        answers: { 200: { description: 'The parcel', body: parcel } },
        errors: ['JOB_NOT_FOUND'],
      },
      handle: (call) => {
        const row = parcels.parcel(param(call.request, 'job'));
        if (row === null || row.client !== clientOf(call).name)
          throw new CapatazError('JOB_NOT_FOUND', 'there is no such parcel');
        const { job, state, scans } = row;
        return ok({ job, state, scans });
      },
    },
  ];
}
