import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { CapatazError } from 'capataz';
import type { SettingDeclarations, SettingValues, Setup } from 'capataz/server';
import { createLanguageModel } from './feedback/language-model.ts';
import { logModel } from './feedback/log-model.ts';
import { processEnvironment } from './performer/environment.ts';
import { prepareSandbox } from './sandbox/service.ts';
import type { Service, ServiceWorld } from './service.ts';
import { simulatedSandbox, simulatedSmith } from './simulators/services.ts';
import { agentNames, chooseAgent } from './smith/choose-agent.ts';
import { prepareSmith } from './smith/service.ts';
import type { FeedbackModel } from './task/feedback.ts';

const simulated = 'simulated';

/** The settings of smith, sandbox and feedback. */
export const performerSettings = {
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
    meaning: 'Program and arguments of the agent, with blanks between.',
  },
  agentOutput: {
    type: 'choice',
    choices: ['text', 'lines'],
    default: 'text',
    meaning: 'What the agent’s program prints: plain text, or JSON lines.',
  },
  agentScript: { type: 'path', default: null, meaning: 'What the scripted agent does, as JSON.' },
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
  testCommand: {
    type: 'string',
    default: 'npm test',
    meaning:
      'Program and arguments of the integration tests, with blanks between. Never read from the repository, where the agent could change it.',
  },
  isolation: {
    type: 'choice',
    choices: ['auto', 'bwrap', 'plain'],
    default: 'auto',
    meaning:
      'Walls around the tests: `bwrap` runs nothing without them, `plain` has none, `auto` takes what is there and says so.',
  },
  testTimeout: { type: 'duration', default: '30m', meaning: 'Longest run of the tests.' },
  feedback: {
    type: 'choice',
    choices: ['log', 'anthropic', 'openai-compatible'],
    default: 'log',
    meaning: 'Who turns failed tests into instructions: rules that read the log, or a model.',
  },
  feedbackModel: { type: 'string', default: null, meaning: 'The name of the model.' },
  feedbackUrl: {
    type: 'url',
    isBase: true,
    default: null,
    meaning: 'Where the model is. Default for anthropic: Anthropic’s own.',
  },
  feedbackKey: { type: 'string', default: null, secret: true, meaning: 'The key to the model.' },
} as const satisfies SettingDeclarations;

type PerformerSetup = Setup<typeof performerSettings>;
type PerformerValues = SettingValues<typeof performerSettings>;

/** @throws CapatazError CONFIG_INVALID */
export async function smithOf(world: ServiceWorld, setup: PerformerSetup): Promise<Service> {
  const { settings, config } = setup;
  if (settings.agent === simulated) return simulatedSmith(world);
  const environment = processEnvironment();
  const agent = configured('agent', () =>
    chooseAgent(
      {
        agent: settings.agent,
        output: settings.agentOutput,
        ...(settings.agentCommand === null ? {} : { command: wordsOf(settings.agentCommand) }),
        ...(settings.agentScript === null ? {} : { script: settings.agentScript }),
      },
      { clock: world.clock, environment },
    ),
  );
  return prepareSmith(world, {
    ...{ agent, environment, folder: ownFolder(config.dataDir, 'smith') },
    ...shared(settings),
    agentsAtOnce: settings.agentsAtOnce,
  });
}

/** @throws CapatazError CONFIG_INVALID */
export async function sandboxOf(world: ServiceWorld, setup: PerformerSetup): Promise<Service> {
  const { settings, config } = setup;
  if (settings.agent === simulated) return simulatedSandbox(world);
  const [program, ...args] = wordsOf(settings.testCommand);
  if (program === undefined) throw new CapatazError('CONFIG_INVALID', 'test_command: is empty');
  return prepareSandbox(world, {
    folder: ownFolder(config.dataDir, 'sandbox'),
    command: [program, ...args],
    environment: processEnvironment(),
    isolation: settings.isolation,
    limits: { timeMs: settings.testTimeout },
    ...shared(settings),
  });
}

/** @throws CapatazError CONFIG_INVALID */
export function feedbackOf({ settings }: PerformerSetup): FeedbackModel {
  const { feedback: api, feedbackModel: model, feedbackKey: apiKey, feedbackUrl } = settings;
  if (api === 'log') return logModel;
  if (model === null) throw new CapatazError('CONFIG_INVALID', 'feedback_model: is missing');
  return configured('feedback', () =>
    createLanguageModel({
      ...{ api, model, apiKey: apiKey ?? '' },
      ...(feedbackUrl === null ? {} : { baseUrl: feedbackUrl }),
    }),
  );
}

function shared({ githubToken, allowedRepositories }: PerformerValues) {
  return {
    ...(githubToken === null ? {} : { gitHub: { token: githubToken } }),
    ...(allowedRepositories === null
      ? {}
      : { allowedRepositories: allowedRepositories.split(',').map((name) => name.trim()) }),
  };
}

/** Whoever runs the tests must get through to it. */
function ownFolder(dataDir: string, name: string): string {
  const folder = join(dataDir, name);
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  return folder;
}

function wordsOf(text: string): string[] {
  return text.split(' ').filter((word) => word !== '');
}

function configured<T>(field: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new CapatazError('CONFIG_INVALID', `${field}: ${message}`, {}, error);
  }
}
