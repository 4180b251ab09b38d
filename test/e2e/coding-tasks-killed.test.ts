/** Each service of the coding tasks is killed while a task is in each of its states. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openShop, type Shop } from '../../apps/coding-tasks/demo/shop.ts';
import { PostgresRoom } from '../../packages/capataz/src/bus/postgres/fixtures/postgres-room.ts';
import { postgresService } from '../../packages/capataz/src/testing/postgres-service.ts';
import { until } from '../../packages/capataz/src/testing/until.ts';
import { Program } from './program.ts';

type ServiceName = 'orchestrator' | 'smith' | 'sandbox' | 'gateway';

interface Task {
  readonly estado: string;
  readonly plan: { readonly planId: string } | null;
  readonly resultado: { readonly rondas: number };
}

/** The four services as processes, with PostgreSQL between them. */
class Site {
  readonly folder = mkdtempSync(join(tmpdir(), 'capataz-killed-'));
  readonly shop: Shop = openShop(this.folder, 300);
  readonly #programs = new Map<ServiceName, Program>();
  readonly #urls = new Map<ServiceName, string>();

  constructor(busUrl: string) {
    writeFileSync(join(this.folder, 'capataz.toml'), `bus_url = ${JSON.stringify(busUrl)}\n`);
  }

  async start(name: ServiceName): Promise<void> {
    const known = this.#urls.get(name);
    const port = known === undefined ? '0' : new URL(known).port;
    const orchestrator = this.#urls.get('orchestrator');
    const args = ['serve', '--port', port, '--only', name, '--data-dir', join(this.folder, name)];
    const program = new Program(
      'apps/coding-tasks/bin/capataz-coding.mjs',
      [
        ...args,
        ...['--poll', '300ms', '--silence', '60s', '--log-level', 'error'],
        ...['--agent', 'scripted', '--agent-script', this.shop.script],
        ...['--test-command', 'sh test.sh'],
        ...(name === 'gateway' ? ['--orchestrator-url', orchestrator ?? ''] : []),
      ],
      this.folder,
    );
    this.#programs.set(name, program);
    this.#urls.set(name, await program.says(/listening on (http:\S+)/));
  }

  async kill(name: ServiceName): Promise<void> {
    await this.#programs.get(name)?.stop('SIGKILL');
    await this.start(name);
  }

  async close(): Promise<void> {
    for (const program of this.#programs.values()) await program[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Null where the gateway, or the orchestrator behind it, can't answer. */
  async ask(method: string, path: string, body?: object): Promise<Response | null> {
    try {
      const response = await fetch(`${this.#urls.get('gateway')}${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return response.ok ? response : null;
    } catch {
      return null;
    }
  }

  async create(solicitudId: string): Promise<string> {
    const body = { prompt: 'Write a sum.', repositorioOrigen: this.shop.repository, solicitudId };
    const response = await this.ask('POST', '/tareas', body);
    assert.ok(response !== null);
    const { taskId } = (await response.json()) as { readonly taskId: string };
    return taskId;
  }

  async task(id: string): Promise<Task | null> {
    const response = await this.ask('GET', `/tareas/${id}`);
    return response === null ? null : ((await response.json()) as Task);
  }

  async reaches(id: string, fits: (task: Task) => boolean): Promise<Task> {
    let task: Task | null = null;
    await until(async () => {
      task = await this.task(id);
      const ended = task?.estado.startsWith('FALLIDA');
      assert.ok(ended !== true, `it failed: ${JSON.stringify(task)}`);
      return task !== null && fits(task);
    });
    assert.ok(task !== null);
    return task;
  }
}

const database = await postgresService();
const room = new PostgresRoom(database.url);
const site = new Site(room.url);

before(async () => {
  for (const name of ['orchestrator', 'smith', 'sandbox', 'gateway'] as const)
    await site.start(name);
});
after(async () => {
  await site.close();
  await room[Symbol.asyncDispose]();
  await database.close();
});

const coding = ({ estado }: Task) => /EJECUTANDO_CODIGO|MONITOREANDO_EJECUCION/.test(estado);
const inState = (state: string) => (task: Task) => task.estado === state;
const inRound = (round: number) => (task: Task) => coding(task) && task.resultado.rondas === round;
const waits = inState('ESPERANDO_APROBACION_PLAN');

const places: readonly [ServiceName, string, (task: Task) => boolean][] = [
  ['orchestrator', 'PLANIFICANDO', inState('PLANIFICANDO')],
  ['orchestrator', 'ESPERANDO_APROBACION_PLAN', waits],
  ['orchestrator', 'MONITOREANDO_EJECUCION', inState('MONITOREANDO_EJECUCION')],
  ['orchestrator', 'PROBANDO_INTEGRACION', inState('PROBANDO_INTEGRACION')],
  ['orchestrator', 'EJECUTANDO_CODIGO in round 2', inRound(2)],
  ['smith', 'PLANIFICANDO', inState('PLANIFICANDO')],
  ['smith', 'EJECUTANDO_CODIGO in round 1', inRound(1)],
  ['smith', 'EJECUTANDO_CODIGO in round 2', inRound(2)],
  ['sandbox', 'PROBANDO_INTEGRACION', inState('PROBANDO_INTEGRACION')],
  ['gateway', 'ESPERANDO_APROBACION_PLAN', waits],
];

for (const [service, where, fits] of places) {
  test(`C-14 C-g C-i S-74 kill -9 of the ${service} in ${where}: the task is completed all the same`, async () => {
    const id = await site.create(`${service} ${where}`);
    const isBefore = where === 'PLANIFICANDO' || where === 'ESPERANDO_APROBACION_PLAN';
    if (isBefore) {
      await site.reaches(id, fits);
      await site.kill(service);
    }
    const { plan } = await site.reaches(id, waits);
    await until(async () => {
      const body = { planId: plan?.planId };
      return (await site.ask('POST', `/tareas/${id}/aprobar`, body)) !== null;
    });
    if (!isBefore) {
      await site.reaches(id, fits);
      await site.kill(service);
    }
    const { resultado } = await site.reaches(id, inState('COMPLETADA'));
    assert.equal(resultado.rondas, 2);
  });
}
