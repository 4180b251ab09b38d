import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openShop, type Shop } from '../../apps/coding-tasks/demo/shop.ts';
import { systemClock } from '../../packages/capataz/src/std/clock.ts';
import { until } from '../../packages/capataz/src/testing/until.ts';
import { Program } from './program.ts';

export const serviceNames = ['orchestrator', 'smith', 'sandbox', 'gateway'] as const;
export type ServiceName = (typeof serviceNames)[number];

export interface Task {
  readonly estado: string;
  readonly plan: { readonly planId: string } | null;
  readonly resultado: { readonly rondas: number };
}

/** The four services of the coding tasks as processes, with PostgreSQL between them. */
export class Site implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'capataz-killed-'));
  readonly shop: Shop = openShop(this.folder, 300);
  readonly model: SlowModel;
  readonly #programs = new Map<ServiceName, Program>();
  readonly #urls = new Map<ServiceName, string>();

  /** @param model answers slowly enough to be met at work */
  constructor(busUrl: string, model: SlowModel) {
    this.model = model;
    writeFileSync(join(this.folder, 'capataz.toml'), `bus_url = ${JSON.stringify(busUrl)}\n`);
  }

  async startAll(): Promise<void> {
    for (const name of serviceNames) await this.start(name);
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
        ...['--feedback', 'openai-compatible', '--feedback-model', 'slow'],
        ...['--feedback-url', this.model.url],
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

  async [Symbol.asyncDispose](): Promise<void> {
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

/** Where a task can be met: its state, and in EJECUTANDO_CODIGO its round. */
export const places = {
  PLANIFICANDO: inState('PLANIFICANDO'),
  ESPERANDO_APROBACION_PLAN: inState('ESPERANDO_APROBACION_PLAN'),
  'EJECUTANDO_CODIGO in round 1': coding(1),
  MONITOREANDO_EJECUCION: inState('MONITOREANDO_EJECUCION'),
  PROBANDO_INTEGRACION: inState('PROBANDO_INTEGRACION'),
  ESPERANDO_FEEDBACK_INTERNO: inState('ESPERANDO_FEEDBACK_INTERNO'),
  'EJECUTANDO_CODIGO in round 2': coding(2),
} as const;
export type PlaceName = keyof typeof places;

/** kill -9 of a service where the task is; it is started again, and the task must be completed. */
export async function completesAfterKill(
  site: Site,
  service: ServiceName,
  place: PlaceName,
): Promise<void> {
  const id = await site.create(`${service} ${place}`);
  const isBefore = place === 'PLANIFICANDO' || place === 'ESPERANDO_APROBACION_PLAN';
  if (isBefore) {
    await site.reaches(id, places[place]);
    await site.kill(service);
  }
  const { plan } = await site.reaches(id, places.ESPERANDO_APROBACION_PLAN);
  await until(async () => {
    const body = { planId: plan?.planId };
    return (await site.ask('POST', `/tareas/${id}/aprobar`, body)) !== null;
  });
  if (!isBefore) {
    await site.reaches(id, places[place]);
    await site.kill(service);
  }
  const { resultado } = await site.reaches(id, inState('COMPLETADA'));
  assert.equal(resultado.rondas, 2);
}

function inState(state: string) {
  return ({ estado }: Task): boolean => estado === state;
}

function coding(round: number) {
  return ({ estado, resultado }: Task): boolean =>
    /EJECUTANDO_CODIGO|MONITOREANDO_EJECUCION/.test(estado) && resultado.rondas === round;
}

/** A stand-in for a feedback model, which takes its time. */
export class SlowModel implements AsyncDisposable {
  readonly #server = createServer((request, response) => {
    request.resume();
    const cancel = systemClock.after(thinkMs, () => {
      const message = { role: 'assistant', content: 'Add, do not subtract.' };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({
          ...{ id: 'c', object: 'chat.completion', created: 1, model: 'slow' },
          choices: [{ index: 0, message, finish_reason: 'stop' }],
          usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
        }),
      );
    });
    response.on('close', cancel);
  });

  async listen(): Promise<this> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await once(this.#server.close(), 'close');
  }
}

const thinkMs = 500;
