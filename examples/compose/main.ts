/** `node examples/compose/main.ts --help`: Capataz with everything that this application adds. */
import { join } from 'node:path';
import { type Config, createServer } from 'capataz/server';
import { driveRound } from './drive.ts';
import { invoice } from './invoice-blueprint.ts';
import { parcel } from './parcel-blueprint.ts';
import { Parcels } from './parcels.ts';
import { routes } from './routes.ts';

const settings = {
  pace: {
    type: 'duration',
    default: '1s',
    meaning: 'Between two rounds of the vans, each of which brings every parcel one place further.',
  },
  labelKey: {
    type: 'string',
    default: 'not a secret',
    secret: true,
    meaning: 'Signs the labels of parcels.',
  },
} as const;

/** In a file of its own: the store of the jobs belongs to the server alone. */
function tableFile({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, 'parcels.sqlite');
}

const server = createServer({
  name: 'parcels',
  settings,
  blueprints: [parcel, invoice],
  stores: (setup) => ({
    parcels: new Parcels(tableFile(setup.config)),
    labelKey: setup.settings.labelKey,
  }),
  feeds: ({ stores: { parcels } }) => [
    {
      name: 'parcels',
      position: () => parcels.position(),
      apply: (events, position) => parcels.apply(events, position),
    },
  ],
  schedules: (setup) => [
    {
      name: 'drive',
      every: `${setup.settings.pace}ms`,
      from: 'end',
      atStart: true,
      run: driveRound,
    },
  ],
  routes: ({ stores: { parcels } }) => routes(parcels),
  commands: [
    {
      name: 'send <weights...>',
      description: 'Send a parcel of each weight, in kg. Those above 20 kg wait for an approval.',
      run: async ({ client, print, arguments: weights }) => {
        const jobs = weights.map((weight) => ({ input: { weight: Number(weight) } }));
        for (const answer of await client.jobs.startMany('parcel', jobs)) {
          if (!('jobId' in answer)) throw answer;
          print.line(answer.jobId);
        }
      },
    },
    {
      name: 'report',
      description: 'Count the jobs in each state by our own table, with or without a server.',
      needsServer: false,
      run: ({ config, print, asJson }) => {
        using parcels = new Parcels(tableFile(config), { readOnly: true });
        const counts = parcels.counts();
        if (asJson) return print.json(counts);
        print.table(
          ['STATE', 'JOBS'],
          Object.entries(counts).map(([state, count]) => [state, String(count)]),
        );
      },
    },
  ],
  onStop: ({ stores }) => stores.parcels[Symbol.dispose](),
});

process.exitCode = await server.run(process.argv.slice(2));
