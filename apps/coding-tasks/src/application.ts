import { randomUUIDv7 } from 'node:crypto';
import { CapatazError } from 'capataz';
import type { Bus } from 'capataz/bus';
import { type Client, createClient } from 'capataz/client';
import {
  createServer,
  type Log,
  type Server,
  type SettingDeclarations,
  type SettingValues,
  type Setup,
} from 'capataz/server';
import { agentsCommand } from './cli/agents-command.ts';
import { taskCommand } from './cli/task-command.ts';
import { applicationName, taskCodec } from './contract/envelope.ts';
import { Gateway } from './gateway/gateway.ts';
import { gatewayRoutes } from './gateway/routes.ts';
import { Notices, noticeBlueprint } from './notice/notices.ts';
import { noticeChannels, noticeSettings } from './notice/settings.ts';
import { orchestratorSubscriptions } from './orchestrator/subscriptions.ts';
import { feedbackOf, performerSettings, sandboxOf, smithOf } from './performers.ts';
import { QueueKeeper } from './queue-keeper.ts';
import type { Service, ServiceWorld } from './service.ts';
import { taskBlueprint } from './task/blueprint.ts';
import type { FeedbackModel } from './task/feedback.ts';
import { taskRules, taskSettings } from './task/rules.ts';

export const serviceNames = ['orchestrator', 'gateway', 'smith', 'sandbox'] as const;
export type ServiceName = (typeof serviceNames)[number];

export const settings = {
  ...taskSettings,
  ...performerSettings,
  ...noticeSettings,
  only: {
    type: 'string',
    default: 'orchestrator,gateway,smith,sandbox',
    meaning:
      'Which services run in this process, with commas between. All of them need no broker; less than all are brought together by bus_url.',
  },
  gatewayName: {
    type: 'string',
    default: '1',
    meaning: 'Of this gateway among several on one bus: each needs a name of its own.',
  },
  orchestratorUrl: {
    type: 'url',
    isBase: true,
    default: null,
    meaning:
      'Where a gateway without the orchestrator in its process asks it what tasks there are. Default: in its own process.',
  },
  orchestratorToken: {
    type: 'string',
    default: null,
    secret: true,
    meaning: `The token of the client \`${applicationName}\` in the orchestrator's clients.toml.`,
  },
  gatewayUrl: {
    type: 'url',
    isBase: true,
    default: 'http://127.0.0.1:8080',
    meaning: 'The gateway that `task` talks to.',
  },
  userToken: {
    type: 'string',
    default: null,
    secret: true,
    meaning: "The user's token in the gateway's clients.toml, for `task`.",
  },
} as const satisfies SettingDeclarations;

export type CodingSettings = SettingValues<typeof settings>;
export type CodingSetup = Setup<typeof settings>;

interface Stores extends Readonly<Record<string, unknown>> {
  readonly feedback: FeedbackModel;
  readonly gateway: Gateway;
  readonly notices: Notices;
  readonly services: Service[];
}

/** What stands in for a service, or for the feedback model. */
export interface Parts {
  readonly feedback?: (setup: CodingSetup) => FeedbackModel;
  readonly smith?: (world: ServiceWorld, setup: CodingSetup) => Service | Promise<Service>;
  readonly sandbox?: (world: ServiceWorld, setup: CodingSetup) => Service | Promise<Service>;
  readonly newId?: () => string;
  readonly log?: Log;
}

/** The four services around one bus, in one process or in several. */
export function codingServer({
  feedback = feedbackOf,
  smith = smithOf,
  sandbox = sandboxOf,
  // They sort by time, and so do lists of tasks.
  newId = randomUUIDv7,
  log,
}: Parts = {}): Server<typeof settings, Stores> {
  return createServer<typeof settings, Stores>({
    name: applicationName,
    settings,
    ...(log === undefined ? {} : { log }),
    codec: taskCodec,
    blueprints: (setup) =>
      runs(setup, 'orchestrator')
        ? [taskBlueprint(taskRules(setup.settings)), noticeBlueprint()]
        : [],
    stores: (setup) => {
      checkAlone(setup);
      const { clock, log } = setup;
      const { reviewers } = taskRules(setup.settings);
      const name = setup.settings.gatewayName;
      const gateway = new Gateway({ clock, log, newId, reviewers, name });
      const notices = new Notices({ channels: noticeChannels(setup.settings), reviewers });
      return { feedback: feedback(setup), gateway, notices, services: [] };
    },
    subscriptions: (around) => {
      const { bus, clock, log, stores, client } = around;
      const own = runs(around, 'orchestrator')
        ? [
            ...orchestratorSubscriptions({ bus, clock, log, newId, client }),
            ...stores.notices.connect({ bus, client }),
          ]
        : [];
      const clientOfTasks = orchestratorClient(around, client);
      return runs(around, 'gateway')
        ? [...own, ...stores.gateway.connect({ bus, client: clientOfTasks })]
        : own;
    },
    routes: (around) => {
      const { publicUrl } = around.config;
      return runs(around, 'gateway') ? gatewayRoutes(around.stores.gateway, { publicUrl }) : [];
    },
    commands: [taskCommand, agentsCommand],
    onStart: async (server) => {
      const { clock, log, stores } = server;
      const world = { bus: busOf(server.bus), clock, log, newId };
      stores.services.push(new QueueKeeper(world));
      if (runs(server, 'smith')) stores.services.push(await smith(world, server));
      if (runs(server, 'sandbox')) stores.services.push(await sandbox(world, server));
      for (const service of stores.services) service.start();
    },
    onStop: async ({ stores }) => {
      await Promise.all(stores.services.map((service) => service.stop()));
    },
  });
}

function namesOf({ only }: CodingSettings): string[] {
  return only.split(',').map((name) => name.trim());
}

function runs({ settings: values }: Pick<CodingSetup, 'settings'>, name: ServiceName): boolean {
  return namesOf(values).includes(name);
}

/** @throws CapatazError CONFIG_INVALID */
function checkAlone(setup: CodingSetup): void {
  const names = namesOf(setup.settings);
  const problems = names
    .filter((name) => !serviceNames.some((known) => known === name))
    .map((name) => `only: "${name}" is none of ${serviceNames.join(', ')}`);
  const isWhole = serviceNames.every((name) => names.includes(name));
  if (!isWhole && setup.config.busUrl === null)
    problems.push('bus_url: is missing; services in several processes need a bus between them');
  const isGatewayAlone = runs(setup, 'gateway') && !runs(setup, 'orchestrator');
  if (isGatewayAlone && setup.settings.orchestratorUrl === null)
    problems.push('orchestrator_url: is missing; a gateway of its own asks the orchestrator there');
  if (problems.length > 0)
    throw new CapatazError('CONFIG_INVALID', problems.join('\n'), { problems });
}

function orchestratorClient(
  { settings: { orchestratorUrl: url, orchestratorToken: token }, clock }: CodingSetup,
  own: () => Client,
): () => Client {
  if (url === null) return own;
  const client = createClient({ url, clock, ...(token === null ? {} : { token }) });
  return () => client;
}

/** @throws CapatazError NOT_READY; subscriptions, of which there always are some, bring one along */
function busOf(bus: Bus | null): Bus {
  if (bus === null) throw new CapatazError('NOT_READY', 'there is no bus');
  return bus;
}
