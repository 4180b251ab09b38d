import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Agent } from './agent.ts';
import { type CommandAgentOptions, createCommandAgent } from './command-agent.ts';
import { plainLines } from './dialects.ts';
import { readScript } from './script.ts';

/**
 * An agent without a model: a file says what it does in each phase, and it really does it, as a
 * process of its own that edits files and commits. For demos and tests.
 * @throws Error for a script that is none, with the file and the field
 */
export function createScriptedAgent(scriptPath: string, options: CommandAgentOptions): Agent {
  readScript(scriptPath);
  // The same folder, whether it runs from sources or compiled.
  const program = `./scripted-program${extname(import.meta.url)}`;
  const args = [
    fileURLToPath(new URL(program, import.meta.url)),
    scriptPath,
    '{phase}',
    '{session}',
  ];
  return createCommandAgent(
    {
      name: 'scripted',
      program: process.execPath,
      args: { plan: args, code: args },
      resume: [],
      prompt: 'input',
      dialect: () => plainLines,
    },
    options,
  );
}
