import type { SettingDeclarations } from 'capataz/server';
import { agentNames } from './choose-agent.ts';

/** No agent at all: simulated services take its place. */
export const simulated = 'simulated';

export const smithSettings = {
  agent: {
    type: 'choice',
    choices: [simulated, ...agentNames],
    default: simulated,
    meaning:
      'The agent that plans and codes. `command` and `acp` run `agent_command`, `scripted` plays `agent_script`; `simulated` works on nothing, and its changes are tested by nobody.',
  },
  agentCommand: {
    type: 'string',
    default: null,
    meaning:
      'Program and arguments of the agent, with blanks between and quotes around what has some.',
  },
  agentOutput: {
    type: 'choice',
    choices: ['text', 'lines'],
    default: 'text',
    meaning: 'What the agent’s program prints: plain text, or JSON lines.',
  },
  agentScript: { type: 'path', default: null, meaning: 'What the scripted agent does, as JSON.' },
  agentArguments: {
    type: 'string',
    default: null,
    meaning:
      'Added to the agent’s own arguments in every phase: a model, a budget, permissions (`--allowedTools "Bash(npm test:*)"`). Default: none, and most agents then may run no command.',
  },
  agentTimeout: {
    type: 'duration',
    default: '4h',
    range: [1, 30 * 86_400_000],
    meaning: 'Longest turn of an agent; then it is ended and the task has failed.',
  },
  agentSilence: {
    type: 'duration',
    default: 'off',
    canBeOff: true,
    meaning:
      'An agent that prints nothing for so long is ended, and the task ends in FALLIDA_INFRAESTRUCTURA. Some agents print only at their end.',
  },
  agentsAtOnce: {
    type: 'integer',
    default: 2,
    range: [1, 1_000],
    meaning: 'Agents that run at the same time; further orders wait.',
  },
  allowedRepositories: {
    type: 'string',
    default: null,
    meaning: 'Beginnings of repositories that may be worked on, with commas between. Default: all.',
  },
  githubToken: {
    type: 'string',
    default: null,
    secret: true,
    meaning: 'Makes pull requests of changes to repositories on GitHub. Default: branches alone.',
  },
} as const satisfies SettingDeclarations;
