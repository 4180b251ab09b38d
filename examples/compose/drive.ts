import type { RunningServer, SettingDeclarations } from 'capataz/server';
import { parcelKey } from './parcel-blueprint.ts';
import type { ParcelRow, Parcels } from './parcels.ts';

const route = ['depot', 'highway', 'city'];
const most = 500;

/**
 * One round of the vans: every parcel that is under way gets one place further. The signals go out
 * in bulk, each to the key that its job has registered. The table may lag behind the jobs: a signal
 * with the id of one that was taken changes nothing, and one to a job that has ended finds nobody.
 */
export async function driveRound(
  server: RunningServer<SettingDeclarations, { readonly parcels: Parcels }>,
): Promise<void> {
  const byClient = Map.groupBy(server.stores.parcels.inState('travels', most), (row) => row.client);
  for (const [client, rows] of byClient) {
    const answers = await server.client(client).signals.send(rows.map(signalTo));
    for (const answer of answers) {
      if ('code' in answer && answer.code !== 'JOB_NOT_FOUND')
        server.log.warn('a van could not tell of a parcel', { error: answer });
    }
  }
}

function signalTo({ job, scans }: ParcelRow) {
  const place = route[scans];
  const words = place === undefined ? { name: 'delivered' } : { name: 'scanned', data: place };
  return { key: parcelKey(job), signalId: `${job}:${scans}`, ...words };
}
