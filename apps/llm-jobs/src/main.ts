/** The command `capataz-llm`: acts when it is loaded. */
import { llmServer } from './application.ts';

process.exitCode = await llmServer().run(process.argv.slice(2));
