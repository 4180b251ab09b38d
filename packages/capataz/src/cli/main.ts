/** The command `capataz`: acts when it is loaded. */
import { processContext } from './context.ts';
import { run } from './program.ts';

process.exitCode = await run(process.argv.slice(2), processContext());
