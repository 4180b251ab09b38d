import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { CapatazError } from 'capataz';
import type { SettingDeclarations, SettingValues, Setup } from 'capataz/server';
import { configuredFeedback, feedbackSettings } from './feedback/settings.ts';
import { processEnvironment } from './performer/environment.ts';
import { prepareSandbox } from './sandbox/service.ts';
import { sandboxSettings, testSettings } from './sandbox/settings.ts';
import type { Service, ServiceWorld } from './service.ts';
import { simulatedSandbox, simulatedSmith } from './simulators/services.ts';
import type { Agent } from './smith/agent.ts';
import { chooseAgent } from './smith/choose-agent.ts';
import { prepareSmith } from './smith/service.ts';
import { simulated, smithSettings } from './smith/settings.ts';
import type { FeedbackModel } from './task/feedback.ts';
import { listOf, wordsOf } from './words.ts';

/** The settings of smith, sandbox and feedback. */
export const performerSettings = {
  ...smithSettings,
  ...sandboxSettings,
  ...feedbackSettings,
} as const satisfies SettingDeclarations;

type PerformerSetup = Setup<typeof performerSettings>;
type PerformerValues = SettingValues<typeof performerSettings>;

/** @throws CapatazError CONFIG_INVALID */
export async function smithOf(world: ServiceWorld, setup: PerformerSetup): Promise<Service> {
  const { settings, config } = setup;
  if (settings.agent === simulated) return simulatedSmith(world);
  return prepareSmith(world, {
    agent: agentOf(world, settings),
    environment: processEnvironment(),
    folder: ownFolder(config.dataDir, 'smith'),
    ...shared(settings),
    agentsAtOnce: settings.agentsAtOnce,
  });
}

function agentOf({ clock }: ServiceWorld, settings: PerformerValues): Agent {
  const { agent, agentCommand, agentScript: script, agentOutput: output } = settings;
  const extraArgs = wordsOf(settings.agentArguments ?? '');
  const { agentSilence: silenceMs, agentTimeout: timeLimitMs } = settings;
  try {
    return chooseAgent(
      {
        ...{ agent, output },
        ...(agentCommand === null ? {} : { command: wordsOf(agentCommand) }),
        ...(script === null ? {} : { script }),
      },
      {
        ...{ clock, environment: processEnvironment(), extraArgs, timeLimitMs },
        ...(silenceMs === 0 ? {} : { silenceMs }),
      },
    );
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new CapatazError('CONFIG_INVALID', `agent: ${message}`, {}, error);
  }
}

/** @throws CapatazError CONFIG_INVALID */
export async function sandboxOf(world: ServiceWorld, setup: PerformerSetup): Promise<Service> {
  const { settings, config } = setup;
  const how = testSettings(settings);
  if (settings.agent === simulated) return simulatedSandbox(world);
  return prepareSandbox(world, {
    folder: ownFolder(config.dataDir, 'sandbox'),
    ...how,
    environment: processEnvironment(),
    isolation: settings.isolation,
    testsAtOnce: settings.testsAtOnce,
    ...shared(settings),
  });
}

export function feedbackOf({ settings }: PerformerSetup): FeedbackModel {
  return configuredFeedback(settings);
}

function shared({ githubToken, allowedRepositories }: PerformerValues) {
  return {
    ...(githubToken === null ? {} : { gitHub: { token: githubToken } }),
    ...(allowedRepositories === null ? {} : { allowedRepositories: listOf(allowedRepositories) }),
  };
}

/** Whoever runs the tests must get through to it. */
function ownFolder(dataDir: string, name: string): string {
  const folder = join(dataDir, name);
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  return folder;
}
