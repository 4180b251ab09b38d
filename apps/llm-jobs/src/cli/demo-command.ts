import type { ApplicationCommand } from 'capataz/server';
import { recordCells, recordHeader, totalsCells, totalsHeader } from '../books/formats.ts';
import type { LlmServer } from '../server.ts';
import type { settings } from '../settings.ts';

/** @param make the application, of which the demo starts a server of its own */
export const demoCommand = (make: () => LlmServer): ApplicationCommand<typeof settings> => ({
  name: 'demo',
  description: 'Twenty jobs against a fake provider that goes wrong: no key, no network.',
  needsServer: false,
  async run({ print }) {
    // With it comes the provider, which nothing else needs.
    const { runDemo } = await import('../demo/demo.ts');
    await runDemo(make(), {
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
});
