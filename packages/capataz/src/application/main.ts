/** The command `capataz`: acts when it is loaded. */
import { createServer } from './create-server.ts';

process.exitCode = await createServer({}).run(process.argv.slice(2));
