/** The command `capataz-coding`: acts when it is loaded. */
import { createServer } from 'capataz/server';
import { applicationName } from './contract/envelope.ts';

process.exitCode = await createServer({ name: applicationName }).run(process.argv.slice(2));
