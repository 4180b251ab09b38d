import { acpCommands, createAcpAgent } from './acp-agent.ts';
import type { Agent } from './agent.ts';
import { type CommandAgentOptions, createCommandAgent } from './command-agent.ts';
import { customTemplate, presets } from './presets.ts';
import { createScriptedAgent } from './scripted-agent.ts';

/**
 * An agent as settings name it:
 * - `claude`, `codex`, …: a preset; `gemini-acp`, `opencode-acp`, …: one that speaks ACP
 * - `command`, `acp`: any program, by `command`; its `output` is plain text or our JSON lines
 * - `scripted`: by `script`, a file
 */
export interface AgentChoice {
  readonly agent: string;
  readonly command?: readonly string[];
  readonly output?: 'text' | 'lines';
  readonly script?: string;
}

export const agentNames: readonly string[] = [
  ...Object.keys(presets),
  ...Object.keys(acpCommands),
  'command',
  'acp',
  'scripted',
];

/** @throws Error for a choice that names no agent, or not enough of it */
export function chooseAgent(choice: AgentChoice, options: CommandAgentOptions): Agent {
  const { agent, script, output = 'text' } = choice;
  if (agent === 'scripted') {
    if (script === undefined)
      throw new Error('agent "scripted" needs a script: the path of a file');
    return createScriptedAgent(script, options);
  }
  if (agent === 'command')
    return createCommandAgent(customTemplate(commandOf(choice), output), options);
  if (agent === 'acp') return createAcpAgent({ ...options, name: 'acp', argv: commandOf(choice) });
  const preset = presets[agent];
  if (preset !== undefined) return createCommandAgent(preset.template, options);
  const argv = acpCommands[agent];
  if (argv !== undefined) return createAcpAgent({ ...options, name: agent, argv });
  throw new Error(`there is no agent "${agent}"; there are ${agentNames.join(', ')}`);
}

function commandOf({ agent, command = [] }: AgentChoice): readonly [string, ...string[]] {
  const [program, ...args] = command;
  if (program === undefined) throw new Error(`agent "${agent}" needs a command`);
  return [program, ...args];
}
