/** Orchestrator, smith, sandbox and feedback together: real git, real processes, a scripted agent. */
import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { test } from 'node:test';
import { systemClock } from 'capataz/server';
import { codingServer } from '../application.ts';
import { exchanges, isTerminal, originators } from '../contract/names.ts';
import { logModel } from '../feedback/log-model.ts';
import { prepareSandbox } from '../sandbox/service.ts';
import type { Service } from '../service.ts';
import { sumScript, wrongSum } from '../smith/fixtures/smithy.ts';
import type { Script } from '../smith/script.ts';
import { createScriptedAgent } from '../smith/scripted-agent.ts';
import { prepareSmith } from '../smith/service.ts';
import { taskRecord } from '../task/record.ts';
import { Place, until } from './fixtures/place.ts';

const sumTest = `cat sum.js && grep -q 'a + b' sum.js || { echo 'not ok 1 - adds'; exit 1; }\n`;

/** Takes a task from its creation to its end. */
async function whole(place: Place, script: Script, feedbackRounds = 3) {
  chmodSync(place.folder, 0o711);
  const repository = place.repository('shop', { 'test.sh': sumTest });
  const { environment } = place;
  const options = { clock: systemClock, environment };
  const agent = createScriptedAgent(place.write('script.json', JSON.stringify(script)), options);
  const server = await codingServer({
    feedback: () => logModel,
    smith: (world) =>
      onceReady(
        prepareSmith(world, { agent, folder: place.path('smith'), environment, progressMs: 20 }),
      ),
    sandbox: (world) =>
      onceReady(
        prepareSandbox(world, {
          ...{ folder: place.path('sandbox'), tests: { command: ['sh', 'test.sh'] }, environment },
        }),
      ),
  }).start({
    config: { port: 0, dataDir: place.path('server'), logLevel: 'error' },
    settings: { feedbackRounds },
  });
  const id = '00000000-0000-4000-8000-000000000001';
  const say = async (name: string, payload: Record<string, string>) => {
    await server.bus?.publish(exchanges.orders, {
      ...{ id: `${id} ${name}`, job: id, sequence: 0, correlationId: id, time: systemClock.now() },
      ...{ originator: originators.gateway, name, payload, trace: null },
    });
  };
  const job = () => server.client().jobs.get(id);
  try {
    await say('tarea.crear', {
      prompt: 'Add a sum',
      repositorioOrigen: repository,
      usuario: 'ana',
    });
    await until(async () => (await stateOf()) === 'ESPERANDO_APROBACION_PLAN');
    const { plan } = taskRecord.parse((await job()).data);
    await say('tarea.aprobar_plan', { planId: plan?.planId ?? '', usuario: 'ana' });
    await until(async () => isTerminal((await stateOf()) ?? ''));
    const { state, data } = await job();
    return { state, record: taskRecord.parse(data), repository };
  } finally {
    await server.stop();
  }

  async function stateOf() {
    return job().then(
      ({ state }) => state,
      () => null,
    );
  }
}

/** A service that begins when it is prepared. */
function onceReady(prepared: Promise<Service>): Service {
  return {
    start: () => void prepared.then((service) => service.start()),
    stop: async () => (await prepared).stop(),
  };
}

test('a task from its prompt to a tested change: wrong at first, right after the feedback', async () => {
  using place = new Place();
  const { state, record, repository } = await whole(place, sumScript);
  assert.deepEqual([state, record.round, record.costUsd], ['COMPLETADA', 2, 0.25]);
  const [, branch = ''] = record.pullRequestUrl?.split('#') ?? [];
  assert.match(place.git(repository, 'show', `${branch}:sum.js`), /a \+ b/);
});

test('B-039: a change that never becomes right ends after the configured rounds, with their cost', async () => {
  using place = new Place();
  const usage = { usage: { costUsd: 0.25, inputTokens: 1, outputTokens: 1 } };
  let text = wrongSum;
  const wrong = () => {
    text += '// again\n';
    return [{ write: { path: 'sum.js', text } }, usage, { answer: 'Done.' }];
  };
  const script = { ...sumScript, code: wrong(), corrections: [wrong(), wrong(), wrong()] };
  const { state, record } = await whole(place, script, 2);
  assert.deepEqual([state, record.round, record.costUsd], ['FALLIDA_LOGICA', 3, 0.75]);
  assert.match(record.reason?.message ?? '', /round 3, after 2 corrections/);
});
