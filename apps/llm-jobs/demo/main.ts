/** `npm run demo:llm-jobs`: what `capataz-llm demo` does. */
import { llmServer } from '../src/application.ts';

process.exitCode = await llmServer().run(['demo']);
