/** The fake provider as a process: acts when it is loaded. Prints where it listens, ends by a signal. */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { FakeProvider } from './fake-provider.ts';
import type { ScriptText } from './script.ts';

const { values } = parseArgs({
  options: { port: { type: 'string', default: '0' }, script: { type: 'string' } },
});
const script: ScriptText =
  values.script === undefined ? {} : JSON.parse(readFileSync(values.script, 'utf8'));
const fake = await FakeProvider.start({ port: Number(values.port), script });
console.log(`listening on ${fake.url}`);
