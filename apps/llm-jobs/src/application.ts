import { mkdirSync } from 'node:fs';
import { createServer, type Log, type Setup } from 'capataz/server';
import { Books } from './books/books.ts';
import { booksFile } from './books/place.ts';
import { isEnding, project } from './books/projection.ts';
import { type Redact, redaction } from './books/redaction.ts';
import { auditCommand } from './cli/audit-command.ts';
import { batchCommand } from './cli/batch-command.ts';
import { demoCommand } from './cli/demo-command.ts';
import { runCommand } from './cli/run-command.ts';
import { statusCommand } from './cli/status-command.ts';
import { keysInEnvironment } from './environment.ts';
import { llmBlueprint } from './job/blueprint.ts';
import type { JobRules } from './job/rules.ts';
import { settlementBlueprint } from './job/settlement.ts';
import type { ModelPort } from './models/contract.ts';
import { createModels, type Models } from './models/create-models.ts';
import { llmRoutes } from './routes.ts';
import type { LlmServer, Stores } from './server.ts';
import { catalogOf, jobRules, type LlmSettings, settings } from './settings.ts';

export const applicationName = 'capataz-llm';

type LlmSetup = Setup<typeof settings>;

/** What stands in for a part of the application, or is hooked into it. */
export interface Parts {
  /** Default: the providers of the catalog, or the stub. */
  readonly models?: (setup: LlmSetup) => ModelPort;
  /** Default: by the words of the skills file. */
  readonly route?: JobRules['route'];
  /** Runs before ours: what it takes out of texts stands in no record (W-v). */
  readonly redact?: Redact;
  /** Default: the application's file. */
  readonly books?: (file: string) => Books;
  readonly log?: Log;
}

export function llmServer(parts: Parts = {}): LlmServer {
  const { log, books = (file) => new Books(file) } = parts;
  return createServer<typeof settings, Stores>({
    name: applicationName,
    settings,
    settingsFile: 'llm-jobs.toml',
    ...(log === undefined ? {} : { log }),
    blueprints: (setup) => {
      const rules = jobRules(setup.settings);
      const { route = rules.route } = parts;
      return [llmBlueprint({ ...rules, route }), settlementBlueprint()];
    },
    stores: (setup) => {
      const { config, clock } = setup;
      mkdirSync(config.dataDir, { recursive: true });
      const models = modelsOf(setup, parts);
      if (models.isStub)
        setup.log.warn('no provider has a key: no model is asked, and every record says so');
      return { models, books: books(booksFile(config)), redact: redactOf(setup, parts), clock };
    },
    feeds: ({ stores: { books, redact }, client }) => [
      {
        name: 'llm-books',
        filter: isEnding,
        position: () => books.position(),
        apply: (events, position) => project(events, position, { books, redact, client }),
      },
    ],
    routes: ({ stores: { books }, client }) => llmRoutes({ books, client }),
    commands: [
      runCommand,
      batchCommand,
      auditCommand,
      statusCommand,
      demoCommand(() => llmServer()),
    ],
    onStop: async ({ stores: { models, books } }) => {
      await models[Symbol.asyncDispose]();
      books[Symbol.dispose]();
    },
  });
}

function modelsOf(setup: LlmSetup, { models }: Parts): Models {
  if (models === undefined) return ownModels(setup);
  const port = models(setup);
  return {
    isStub: false,
    call: (call) => port.call(call),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

function ownModels({ settings: values, clock }: LlmSetup): Models {
  const catalog = catalogOf(values);
  return createModels({
    catalog,
    keys: keysOf(values, catalog.providers.values()),
    clock,
    connectTimeoutMs: values.connectTimeout,
    totalTimeoutMs: values.totalTimeout,
  });
}

function keysOf(
  { apiKey }: LlmSettings,
  providers: Iterable<{ readonly key: string | null }>,
): Record<string, string | undefined> {
  const names = [...providers].flatMap(({ key }) => (key === null ? [] : [key]));
  return { ...keysInEnvironment(names), ...(apiKey === '' ? {} : { ANTHROPIC_API_KEY: apiKey }) };
}

function redactOf({ settings: { redactions } }: LlmSetup, { redact }: Parts): Redact {
  const own = redaction(redactions);
  return redact === undefined ? own : (text) => own(redact(text));
}
