/** The command `capataz-coding`: acts when it is loaded. */
import { codingServer } from './application.ts';

process.exitCode = await codingServer().run(process.argv.slice(2));
