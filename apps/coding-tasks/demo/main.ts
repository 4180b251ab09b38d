/**
 * `npm run demo:coding-tasks [-- --rabbitmq [url]]`: a task from its prompt to a tested change. Every
 * line that begins with `$` is a command that you could type.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeTraces } from './broker.ts';
import { output, ServiceProcess, typed } from './programs.ts';
import { git, openShop } from './shop.ts';

const [mode, url = 'amqp://guest:guest@127.0.0.1:5672'] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'capataz-coding-demo-'));
const { repository, script } = openShop(folder);
const services: ServiceProcess[] = [];
/** Of this demo's own names at a broker that others use, too. */
const prefix = `demo-${randomUUID()}.`;

try {
  const gateway = mode === '--rabbitmq' ? await startApart() : await startTogether();
  const to = ['--gateway-url', gateway];
  const task = await typed(
    ['task', 'new', 'Write a sum that passes the test.', '--repository', repository, ...to],
    folder,
  );
  const { planId, hash } = await plan(task, to);
  await typed(['task', 'show', task, ...to], folder);
  const watching = typed(['task', 'watch', task, ...to], folder);
  await typed(['task', 'approve', task, '--plan', planId, '--hash', hash, ...to], folder);
  await watching;
  const view = JSON.parse(await output(['task', 'show', task, '--json', ...to], folder));
  if (view.estado !== 'COMPLETADA') throw new Error(`the task ended in ${view.estado}`);
  const [, branch] = String(view.resultado.pullRequestUrl).split('#');
  console.log(`\n$ git diff main ${branch}`);
  console.log(git(repository, 'diff', 'main', branch ?? ''));
  console.log(`COMPLETADA in round ${view.resultado.rondas}, for $${view.resultado.costeUsd}`);
} finally {
  for (const service of services.reverse()) await service.stop();
  if (mode === '--rabbitmq') await removeTraces(url, prefix);
  rmSync(folder, { recursive: true, force: true });
}

function performers(): string[] {
  return ['--agent', 'scripted', '--agent-script', script, '--test-command', 'sh test.sh'];
}

/** All in one process, and no broker. @returns where the gateway is */
async function startTogether(): Promise<string> {
  const words = ['serve', '--port', '0', '--data-dir', join(folder, 'data'), '--log-level', 'warn'];
  const server = await ServiceProcess.start([...words, ...performers()], folder);
  services.push(server);
  return server.url;
}

/** Each service in a process of its own, with RabbitMQ between them. */
async function startApart(): Promise<string> {
  // All of them find it in their folder, and it stands in no list of processes.
  const settings = { bus_url: url, bus_prefix: prefix };
  const lines = Object.entries(settings).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  writeFileSync(join(folder, 'capataz.toml'), `${lines.join('\n')}\n`);
  const start = async (name: string, ...more: string[]) => {
    const own = ['--only', name, '--data-dir', join(folder, name)];
    const words = ['serve', '--port', '0', ...own, '--log-level', 'warn', ...more];
    const service = await ServiceProcess.start(words, folder);
    services.push(service);
    return service.url;
  };
  const orchestrator = await start('orchestrator');
  await start('smith', ...performers());
  await start('sandbox', ...performers());
  return start('gateway', '--orchestrator-url', orchestrator);
}

/** The plan, once it waits for approval. */
async function plan(task: string, to: readonly string[]) {
  for (;;) {
    const view = JSON.parse(await output(['task', 'show', task, '--json', ...to], folder));
    if (view.estado === 'ESPERANDO_APROBACION_PLAN') return view.plan;
    if (view.terminada !== null) throw new Error(`there is no plan: ${view.estado}`);
  }
}
