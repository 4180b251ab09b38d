import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from 'capataz/testing';
import { type ServerMessage, serverMessage } from '../contract/client.ts';
import {
  answers,
  newId,
  second,
  silentServices,
  World,
  type WorldOptions,
} from '../fixtures/world.ts';

const clients = `
[ana]
token = "token-of-ana"
[bob]
token = "token-of-bob"
[rita]
token = "token-of-rita"
`;

/** A world in which users have tokens. */
async function guarded(options: WorldOptions = silentServices): Promise<World> {
  return World.start({
    ...options,
    settings: { reviewers: 'rita' },
    prepare: (folder) => {
      const file = join(folder, 'clients.toml');
      writeFileSync(file, clients);
      return { clients: file };
    },
  });
}

class Browser implements Disposable {
  readonly messages: ServerMessage[] = [];
  readonly #socket: WebSocket;
  closed: number | null = null;

  constructor(world: World, user: string, headers: Record<string, string> = {}, query = '') {
    const url = `${world.server.url.replace('http', 'ws')}/socket${query}`;
    const token = { 'x-client-token': `token-of-${user}` };
    this.#socket = new WebSocket(url, { headers: { ...token, ...headers } });
    this.#socket.addEventListener('message', ({ data }) => {
      this.messages.push(serverMessage.parse(JSON.parse(String(data))));
    });
    this.#socket.addEventListener('close', ({ code }) => {
      this.closed = code;
    });
    this.#socket.addEventListener('error', () => undefined);
  }

  async say(message: object): Promise<void> {
    await until(() => this.#socket.readyState === WebSocket.OPEN);
    this.#socket.send(JSON.stringify(message));
  }

  /** The first message that is so. */
  async heard(fits: (message: ServerMessage) => boolean): Promise<ServerMessage> {
    await until(() => this.messages.some(fits));
    const found = this.messages.find(fits);
    assert.ok(found !== undefined);
    return found;
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}

const inState = (estado: string) => (message: ServerMessage) =>
  message.tipo === 'ACTUALIZACION_PROGRESO' && message.payload.datosAdicionales?.estado === estado;

const create = (solicitudId?: string) => ({
  tipo: 'CREAR_TAREA',
  payload: {
    ...{ prompt: 'paint it', repositorioOrigen: 'file:///repository' },
    ...(solicitudId === undefined ? {} : { solicitudId }),
  },
});

async function ask(world: World, user: string, method: string, path: string, body?: object) {
  const response = await fetch(`${world.server.url}${path}`, {
    method,
    headers: { 'x-client-token': `token-of-${user}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const json = (await response.json()) as Readonly<Record<string, unknown>>;
  return { status: response.status, json };
}

test('C-27 C-y C-9 S-72 a client begins a task, learns its id, approves the plan that it was shown, and is told the end', async () => {
  await using world = await guarded();
  using browser = new Browser(world, 'ana');
  await browser.say(create('request-1'));
  const first = await browser.heard(inState('NUEVA'));
  assert.ok(first.tipo === 'ACTUALIZACION_PROGRESO');
  const { taskId, datosAdicionales } = first.payload;
  assert.equal(datosAdicionales?.solicitudId, 'request-1');
  await world.result(taskId, answers.plan());
  const shown = await browser.heard(inState('ESPERANDO_APROBACION_PLAN'));
  assert.ok(shown.tipo === 'ACTUALIZACION_PROGRESO');
  assert.partialDeepStrictEqual(shown.payload.datosAdicionales, {
    planId: 'plan-1',
    plan: { pasos: ['paint it'] },
  });
  const hash = shown.payload.datosAdicionales?.hash;
  await browser.say({ tipo: 'APROBAR_PLAN', payload: { taskId, planId: 'plan-1', hash } });
  await browser.heard(inState('EJECUTANDO_CODIGO'));
  await world.result(taskId, answers.pullRequest());
  await browser.heard(inState('PROBANDO_INTEGRACION'));
  await world.result(taskId, answers.verdict(true));
  const end = await browser.heard(({ tipo }) => tipo === 'TAREA_FINALIZADA');
  assert.partialDeepStrictEqual(end.payload, {
    taskId,
    estado: 'COMPLETADA',
    resultado: { estado: 'COMPLETADA', pullRequestUrl: 'file:///repository#1' },
  });
});

test('C-y the same request id makes one task, whatever was lost on the way', async () => {
  await using world = await guarded();
  const body = { ...create('request-2').payload };
  const one = await ask(world, 'ana', 'POST', '/tareas', body);
  const two = await ask(world, 'ana', 'POST', '/tareas', body);
  const other = await ask(world, 'bob', 'POST', '/tareas', body);
  assert.deepEqual([one.status, two.status, other.status], [200, 200, 200]);
  assert.equal(one.json.taskId, two.json.taskId);
  assert.notEqual(one.json.taskId, other.json.taskId);
});

test('C-x C-16 both failures are FALLIDA to the client; which and why stands in the result', async () => {
  await using world = await guarded();
  using browser = new Browser(world, 'ana');
  await browser.say(create());
  const first = await browser.heard(inState('PLANIFICANDO'));
  await world.advance(5 * 60 * second);
  const end = await browser.heard(({ tipo }) => tipo === 'TAREA_FINALIZADA');
  assert.partialDeepStrictEqual(end.payload, {
    taskId: first.payload.taskId,
    estado: 'FALLIDA',
    resultado: {
      estado: 'FALLIDA_INFRAESTRUCTURA',
      motivo: 'silence',
      servicio: 'herrero-adapter-service',
    },
  });
});

test('C-z who comes back is told where his tasks stand; nobody sees those of another, but reviewers do', async () => {
  await using world = await guarded();
  const { json } = await ask(world, 'ana', 'POST', '/tareas', create().payload);
  const taskId = String(json.taskId);
  await world.result(taskId, answers.plan());
  using again = new Browser(world, 'ana');
  using bob = new Browser(world, 'bob');
  using rita = new Browser(world, 'rita');
  for (const browser of [again, rita]) {
    const message = await browser.heard(inState('ESPERANDO_APROBACION_PLAN'));
    assert.equal(message.payload.taskId, taskId);
  }
  await bob.say({ tipo: 'APROBAR_PLAN', payload: { taskId, planId: 'plan-1' } });
  const refusal = await bob.heard(({ tipo }) => tipo === 'ERROR');
  assert.match(JSON.stringify(refusal.payload), /there is no task/);
  assert.equal((await ask(world, 'bob', 'GET', `/tareas/${taskId}`)).status, 404);
  assert.equal((await ask(world, 'nobody', 'GET', `/tareas/${taskId}`)).status, 401);
  assert.deepEqual((await ask(world, 'bob', 'GET', '/tareas')).json, { tareas: [] });
  assert.equal((await ask(world, 'rita', 'GET', `/tareas/${taskId}`)).status, 200);
  assert.equal(bob.messages.length, 1);
});

test('C-p B-036 an approval of another plan is refused to the client; the same one twice is done, the opposite is 409', async () => {
  await using world = await guarded();
  const { json } = await ask(world, 'ana', 'POST', '/tareas', create().payload);
  const taskId = String(json.taskId);
  await world.result(taskId, answers.plan());
  const path = `/tareas/${taskId}`;
  // A scanner that opens links decides nothing.
  assert.equal((await ask(world, 'ana', 'GET', `${path}/aprobar`)).status, 405);
  using browser = new Browser(world, 'ana');
  await browser.say({ tipo: 'APROBAR_PLAN', payload: { taskId, planId: 'plan-0' } });
  const refusal = await browser.heard(({ tipo }) => tipo === 'ERROR');
  assert.match(JSON.stringify(refusal.payload), /plan_outdated/);
  const outdated = await ask(world, 'ana', 'POST', `${path}/aprobar`, { planId: 'plan-0' });
  assert.deepEqual([outdated.status, outdated.json.code], [409, 'SIGNAL_REFUSED']);
  const statuses: number[] = [];
  for (const word of ['aprobar', 'aprobar', 'rechazar'])
    statuses.push(
      (await ask(world, 'ana', 'POST', `${path}/${word}`, { planId: 'plan-1' })).status,
    );
  assert.deepEqual(statuses, [200, 200, 409]);
  assert.equal(await world.state(taskId), 'EJECUTANDO_CODIGO');
});

test('C-q a client rejects with a comment, and cancels', async () => {
  await using world = await guarded();
  using browser = new Browser(world, 'ana');
  await browser.say(create());
  const { payload } = await browser.heard(inState('PLANIFICANDO'));
  const taskId = String(payload.taskId);
  await world.result(taskId, answers.plan());
  await browser.heard(inState('ESPERANDO_APROBACION_PLAN'));
  const words = { taskId, planId: 'plan-1', comentario: 'blue' };
  await browser.say({ tipo: 'RECHAZAR_PLAN', payload: words });
  await until(async () => (await world.state(taskId)) === 'PLANIFICANDO');
  await browser.say({ tipo: 'CANCELAR_TAREA', payload: { taskId } });
  const end = await browser.heard(({ tipo }) => tipo === 'TAREA_FINALIZADA');
  assert.partialDeepStrictEqual(end.payload, { resultado: { motivo: 'cancelled_by_user' } });
});

test('C-27 what is malformed is answered with ERROR, and a page of another origin opens no socket', async () => {
  await using world = await guarded();
  using browser = new Browser(world, 'ana');
  await browser.say({ tipo: 'BORRAR_TODO', payload: {} });
  await browser.heard(({ tipo }) => tipo === 'ERROR');
  using page = new Browser(world, 'ana', { origin: 'https://elsewhere.example' });
  await until(() => page.closed !== null);
  assert.deepEqual(page.messages, []);
});

test('C-z S-72 what agents and tests print is told to who asks for it and may see the task, to nobody else', async () => {
  await using world = await guarded();
  const { json } = await ask(world, 'ana', 'POST', '/tareas', create().payload);
  const taskId = String(json.taskId);
  const [ana, quiet, bob, rita] = [
    new Browser(world, 'ana', {}, '?registros=true'),
    new Browser(world, 'ana'),
    new Browser(world, 'bob', {}, '?registros=true'),
    new Browser(world, 'rita', {}, '?registros=true'),
  ] as const;
  using wrong = new Browser(world, 'ana', {}, '?registros=maybe');
  try {
    await quiet.heard(inState('PLANIFICANDO'));
    await rita.heard(inState('PLANIFICANDO'));
    await ana.heard(inState('PLANIFICANDO'));
    await until(() => wrong.closed !== null);
    const line = { mensaje: 'ok 1 - it is green', campos: { intento: '1' } };
    await world.say(taskId, 'log.info', line, { from: 'sandbox-service' });
    await world.say(newId(), 'log.info', line, { from: 'sandbox-service' });
    const isLine = ({ tipo, payload }: ServerMessage) =>
      tipo === 'ACTUALIZACION_PROGRESO' && payload.mensaje === line.mensaje;
    for (const browser of [ana, rita])
      assert.deepEqual((await browser.heard(isLine)).payload, {
        taskId,
        mensaje: line.mensaje,
        datosAdicionales: {
          registro: { nivel: 'info', servicio: 'sandbox-service', intento: '1' },
        },
      });
    await world.result(taskId, answers.plan());
    await quiet.heard(inState('ESPERANDO_APROBACION_PLAN'));
    assert.deepEqual([...quiet.messages, ...bob.messages].filter(isLine), []);
  } finally {
    for (const browser of [ana, quiet, bob, rita]) browser[Symbol.dispose]();
  }
});

test('C-27 a flood: more requests at once than a person makes, and more sockets, are refused', async () => {
  await using world = await guarded();
  using browser = new Browser(world, 'ana');
  for (let count = 0; count < 200; count += 1) await browser.say(create(`request-${count}`));
  const isRefusal = ({ tipo, payload }: ServerMessage) =>
    tipo === 'ERROR' && /requests at once/.test(payload.mensaje);
  await browser.heard(isRefusal);
  await browser.heard(inState('PLANIFICANDO'));
  const browsers = Array.from({ length: 60 }, () => new Browser(world, 'bob'));
  try {
    await until(() => browsers.filter(({ closed }) => closed !== null).length === 10);
    assert.equal((await ask(world, 'ana', 'GET', '/tareas')).status, 200);
  } finally {
    for (const one of browsers) one[Symbol.dispose]();
  }
});

test('C-27 S-73 an address with a password is refused before it is stored, and not repeated', async () => {
  await using world = await guarded();
  const body = { ...create().payload, repositorioOrigen: 'https://user:hush@host/shop' };
  const { status, json } = await ask(world, 'ana', 'POST', '/tareas', body);
  assert.equal(status, 400);
  assert.match(JSON.stringify(json), /user name or password/);
  assert.doesNotMatch(JSON.stringify(json), /hush/);
  using browser = new Browser(world, 'ana');
  await browser.say({ tipo: 'CREAR_TAREA', payload: body });
  await browser.heard(({ tipo }) => tipo === 'ERROR');
  assert.deepEqual((await ask(world, 'ana', 'GET', '/tareas')).json, { tareas: [] });
});

test('C-l news of a task come from the orchestrator alone', async () => {
  await using world = await guarded();
  using browser = new Browser(world, 'ana');
  await browser.say(create());
  const first = await browser.heard(inState('NUEVA'));
  assert.ok(first.tipo === 'ACTUALIZACION_PROGRESO');
  const { taskId } = first.payload;
  const payload = { estado: 'COMPLETADA', estadoPadre: null, motivo: null, resultado: null };
  const event = {
    ...{ id: newId(), job: taskId, sequence: 0, correlationId: taskId, time: world.clock.now() },
    ...{ originator: 'mallory', name: 'tarea.estado_cambiado', trace: null },
    payload: { ...payload, usuario: 'ana', solicitudId: null },
  };
  await assert.rejects(world.bus.publish('topico.resultados', event), /comes from mallory/);
  await world.result(taskId, answers.plan());
  await browser.heard(inState('ESPERANDO_APROBACION_PLAN'));
  assert.ok(browser.messages.every(({ tipo }) => tipo !== 'TAREA_FINALIZADA'));
});
