import { existsSync } from 'node:fs';
import type { ApplicationCommand } from 'capataz/server';
import { Books } from '../books/books.ts';
import { totalsCells, totalsHeader, totalsView } from '../books/formats.ts';
import { booksFile } from '../books/place.ts';
import { blueprintName } from '../job/names.ts';
import { recordInView } from '../job/view.ts';
import type { settings } from '../settings.ts';

const open = [
  'pending',
  'running',
  'waiting_for_human',
  'waiting_for_timer',
  'quarantined',
] as const;

export const statusCommand: ApplicationCommand<typeof settings> = {
  name: 'status [job]',
  description: 'Jobs that have not ended, by what they wait for, and the totals; or one job.',
  async run({ client, config, print, asJson, arguments: [jobId] }) {
    if (jobId !== undefined) {
      print.json(recordInView(await client.jobs.get(jobId)));
      return;
    }
    const counts: Record<string, number> = {};
    for (const status of open) {
      let count = 0;
      for await (const _ of client.jobs.all({ blueprint: blueprintName, status: [status] }))
        count += 1;
      counts[status] = count;
    }
    const file = booksFile(config);
    using books = existsSync(file) ? new Books(file, { readOnly: true }) : null;
    const totals = books?.totals() ?? [];
    if (asJson) return print.json({ open: counts, totals: totals.map(totalsView) });
    print.table(
      ['OPEN', 'JOBS'],
      Object.entries(counts).map(([status, count]) => [status, String(count)]),
    );
    print.line();
    print.table([...totalsHeader], totals.map(totalsCells));
  },
};
