import type { ApplicationCommand } from 'capataz/server';
import { recordCells, recordHeader, totalsCells, totalsHeader } from '../books/formats.ts';
import type { settings } from '../settings.ts';

export const demoCommand: ApplicationCommand<typeof settings> = {
  name: 'demo',
  description: 'Twenty jobs against a fake provider that goes wrong: no key, no network.',
  needsServer: false,
  async run({ print }) {
    // It starts a server of this very application.
    const { runDemo } = await import('../demo/demo.ts');
    await runDemo({
      line: (text) => print.line(text),
      show: (books) => {
        print.line('\nThe audit records:\n');
        print.table([...recordHeader], [...books.records()].map(recordCells));
        for (const by of ['status', 'tier', 'skill'] as const) {
          print.line(`\nTotals by ${by}:\n`);
          print.table([...totalsHeader], books.totals({}, by).map(totalsCells));
        }
      },
    });
  },
};
