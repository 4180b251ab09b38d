/** The deploy cycle, on a fake Control Room in time that the tests move. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { worldOf } from '../fake-control-room/world.ts';
import { justBeforeNine } from '../fixtures/nine.ts';
import { addDevice, addRobot, addSchedule, assign, dailyAtNine } from '../fixtures/tables.ts';
import { day, hour, minute, second, World, type WorldOptions } from '../fixtures/world.ts';
import type { Db } from '../tables/database.ts';

const start = (options: WorldOptions = {}): Promise<World> =>
  World.start({ now: justBeforeNine, prepare: dailyAtNine, ...options });
const cycle = 15 * second;
const notSynced = { LANZADOR_HABILITAR_SYNC: 'False' };
/** For tests that last days. */
const slowly = { LANZADOR_INTERVALO_LANZAMIENTO_SEG: '300' };
const deploys = (world: World) => world.fake.calls.seen('deploy');

test('L-64, L-23, L-28: a daily schedule is deployed at its hour as the seed says, stored, and followed to its end', async () => {
  await using world = await World.start({ prepare: dailyAtNine, callsBack: false });
  await world.pass(hour - second);
  assert.equal(world.fake.runs.length, 0);
  await world.pass(16 * second);
  assert.partialDeepStrictEqual(JSON.parse(deploys(world)[0]?.body ?? ''), {
    botId: 9_001,
    unattendedRequest: { runAsUserIds: [5_001] },
    botInput: { in_NumRepeticion: { type: 'NUMBER', number: '3' } },
  });
  const [deployed, ...others] = await world.executions();
  assert.equal(others.length, 0);
  assert.partialDeepStrictEqual(deployed, {
    DeploymentId: world.fake.runs[0]?.deploymentId,
    ...{ RobotId: 9_001, EquipoId: 101, UserId: 5_001, Hora: '09:00', FechaTeorica: '2026-03-02' },
    ...{ Estado: 'DEPLOYED', FechaFin: null, CallbackInfo: null, IntentosConciliadorFallidos: 0 },
  });
  await world.pass(15 * minute);
  const [ended] = await world.executions();
  assert.equal(ended?.Estado, 'COMPLETED');
  assert.match(ended?.FechaFin ?? '', /^2026-03-02 09:01:/);
});

test('L-20, L-16: a slot runs once, also when it has ended long before its window', async () => {
  await using world = await start({ settings: slowly });
  await world.pass(2 * hour);
  assert.equal(world.fake.runs.length, 1);
  await world.pass(day);
  assert.equal(world.fake.runs.length, 2);
});

test('LH-9: 23:50 with a device that is busy until 00:10 runs once that night, and again the next evening', async () => {
  const before = Date.UTC(2026, 2, 3, 2, 49, 50);
  await using world = await World.start({
    now: before,
    settings: slowly,
    room: worldOf({ devices: 1, robots: 2, script: { durationMs: 20 * minute } }),
    prepare: async (db) => {
      await addRobot(db);
      await addRobot(db, { RobotId: 9_002, Robot: 'P002_Robot', PrioridadBalanceo: 1 });
      await addDevice(db);
      await addSchedule(db, { HoraInicio: '23:50', Tolerancia: 60 });
      await addSchedule(db, {
        RobotId: 9_002,
        HoraInicio: '23:50',
        TipoProgramacion: 'Especifica',
        FechaEspecifica: '2026-03-02',
      });
    },
  });
  await world.pass(2 * hour);
  const night = world.fake.runs.map(({ robotId }) => robotId);
  assert.deepEqual(night, [9_002, 9_001]);
  const [, late] = await world.executions();
  assert.equal(late?.FechaTeorica, '2026-03-02');
  assert.match(late?.FechaInicio ?? '', /^2026-03-03 00:1/);
  await world.pass(day - hour);
  assert.deepEqual(
    world.fake.runs.map(({ robotId }) => robotId),
    [9_002, 9_001, 9_001],
  );
});

test('L-18, L-65: an online robot runs again in the cycle after its end, for ever, and never twice at once', async () => {
  await using world = await World.start({
    prepare: onlineRobot,
  });
  await world.pass(20 * minute);
  const { runs } = world.fake;
  assert.ok(runs.length >= 14, `${runs.length} runs of a minute in twenty`);
  for (const [index, run] of runs.entries())
    assert.ok(
      index === 0 || run.acceptedAt >= (runs[index - 1]?.endedAt ?? Number.POSITIVE_INFINITY),
    );
});

test('L-13, B-070: in the pause nothing is deployed and the log says so; the slot runs when it ends', async () => {
  await using world = await start({
    settings: { LANZADOR_PAUSA_INICIO_HHMM: '08:30', LANZADOR_PAUSA_FIN_HHMM: '09:20' },
  });
  await world.pass(20 * minute);
  assert.equal(deploys(world).length, 0);
  assert.ok(world.lines('En ventana de pausa').length > 10);
  const [waiting] = await world.jobs();
  assert.deepEqual([waiting?.state, waiting?.data.reason], ['PENDIENTE', 'deployments pause']);
  await world.pass(30 * second);
  assert.equal(world.fake.runs.length, 1);
});

test('B-070: a retry that would fall into the pause waits until it is over', async () => {
  await using world = await start({
    settings: {
      ...notSynced,
      LANZADOR_PAUSA_INICIO_HHMM: '09:01',
      LANZADOR_PAUSA_FIN_HHMM: '09:30',
      LANZADOR_DELAY_REINTENTO_DEPLOY_SEG: '90',
    },
    room: { faults: [{ endpoint: 'deploy', status: 412, body: 'device offline', times: 1 }] },
  });
  await world.pass(29 * minute);
  assert.equal(deploys(world).length, 1);
  await world.pass(2 * minute);
  assert.equal(world.fake.runs.length, 1);
});

test('LH-6, S-92: a slot that lies wholly in the pause ends OMITIDA, outside Ejecuciones, and is told', async () => {
  await using world = await start({
    settings: { LANZADOR_PAUSA_INICIO_HHMM: '08:30', LANZADOR_PAUSA_FIN_HHMM: '12:00' },
  });
  await world.pass(2 * hour);
  const [job] = await world.jobs();
  assert.deepEqual(
    [job?.state, job?.data.reason],
    ['OMITIDA', 'its whole window lies in the pause'],
  );
  assert.deepEqual(await world.executions(), []);
  assert.equal(world.alerts.of('slot_skipped').length, 1);
  assert.equal(deploys(world).length, 0);
});

test('L-29, L-30: 412, then 200: two calls with the delay between them, one row, and the attempt in the log line', async () => {
  await using world = await start({
    room: { faults: [{ endpoint: 'deploy', status: 412, body: 'Device is offline', times: 1 }] },
  });
  await world.pass(minute);
  const [first, second_, ...rest] = deploys(world);
  assert.equal(rest.length, 0);
  assert.ok((second_?.at ?? 0) - (first?.at ?? 0) >= 5 * second);
  assert.equal((await world.executions()).length, 1);
  assert.equal(world.lines(/Intento 1\/2.*se reintenta/).length, 1);
  assert.equal(world.lines(/"info".*desplegado con ID.*Intento 2\/2/).length, 1);
});

test('L-31, S-55, L-59: 412 again and again: as many calls a cycle as the settings say, no row, the assignment stays', async () => {
  await using world = await start({
    settings: { LANZADOR_MAX_REINTENTOS_DEPLOY: '3', LANZADOR_DELAY_REINTENTO_DEPLOY_SEG: '1' },
    room: { faults: [{ endpoint: 'deploy', status: 412, body: 'Device is offline' }] },
  });
  await world.pass(20 * second);
  assert.equal(deploys(world).length, 3);
  await world.pass(15 * second);
  assert.equal(deploys(world).length, 6);
  assert.deepEqual(await world.executions(), []);
  assert.equal((await world.db.selectFrom('Asignaciones').selectAll().execute()).length, 1);
  const [job] = await world.jobs();
  assert.equal(job?.state, 'PENDIENTE');
  assert.ok(world.lines(/"warn".*Device is offline/).length >= 3);
});

test('L-37, L-38, L-66: one alert when 412 has lasted for the threshold; a success begins the count anew', async () => {
  const offline = { endpoint: 'deploy', status: 412, body: 'Device is offline' } as const;
  await using world = await World.start({
    settings: {
      LANZADOR_UMBRAL_ALERTAS_412: '4',
      LANZADOR_MAX_REINTENTOS_DEPLOY: '1',
      ...notSynced,
    },
    room: {
      ...worldOf({ devices: 1, robots: 1, script: { durationMs: second } }),
      faults: [
        { ...offline, times: 5 },
        { ...offline, from: 7 },
      ],
    },
    prepare: onlineRobot,
  });
  const alerts = () => world.alerts.mailsAbout('Device refuses deployments with 412').length;
  await world.pass(2 * cycle);
  assert.deepEqual([deploys(world).length, alerts()], [3, 0]);
  await world.pass(2 * cycle);
  assert.deepEqual([deploys(world).length, alerts()], [5, 1]);
  await world.pass(cycle);
  assert.equal(world.fake.runs.length, 1);
  assert.match(world.alerts.mails.at(-1)?.subject ?? '', /RECUPERACI/);
  const mails = world.alerts.mails.length;
  await world.pass(3 * cycle);
  assert.deepEqual([deploys(world).length, world.alerts.mails.length], [9, mails]);
  await world.pass(cycle);
  assert.equal(world.alerts.mails.length, mails + 1);
});

const badRequest = {
  endpoint: 'deploy',
  status: 400,
  body: '{"message":"Variable not found"}',
} as const;

test('L-32, LH-7: a permanent 400 is one call; the assignment is gone, kept aside with the reason, and can be put back', async () => {
  await using world = await start({ room: { faults: [badRequest] } });
  await world.pass(5 * minute);
  assert.equal(deploys(world).length, 1);
  assert.deepEqual(await world.db.selectFrom('Asignaciones').selectAll().execute(), []);
  const [kept] = await world.db.selectFrom('AsignacionesRetiradas').selectAll().execute();
  assert.partialDeepStrictEqual(kept, { RobotId: 9_001, EquipoId: 101, EsProgramado: 1 });
  assert.match(kept?.Motivo ?? '', /Variable not found/);
  assert.equal(world.alerts.mails.length, 1);
  const [row] = await world.executions();
  assert.deepEqual(
    [row?.Estado, row?.DeploymentId],
    ['DEPLOY_FAILED', `local:${(await world.jobs())[0]?.id}`],
  );
});

test('L-33, L-34, S-88: the mail about 400 goes out once a device; another device has its own', async () => {
  await using world = await start({
    room: { faults: [badRequest] },
    prepare: async (db) => {
      for (const n of [1, 2, 3]) await addRobot(db, { RobotId: 9_000 + n, Robot: `P00${n}_Robot` });
      for (const n of [1, 2]) await addDevice(db, n);
      await addSchedule(db, { HoraInicio: '09:00' }, [101]);
      await addSchedule(db, { RobotId: 9_002, HoraInicio: '09:10' }, [101]);
      await addSchedule(db, { RobotId: 9_003, HoraInicio: '09:20' }, [102]);
    },
  });
  await world.pass(minute);
  assert.equal(world.alerts.mails.length, 1);
  await world.pass(12 * minute);
  assert.equal(
    (await world.db.selectFrom('AsignacionesRetiradas').selectAll().execute()).length,
    2,
  );
  assert.equal(world.alerts.mails.length, 1);
  await world.pass(10 * minute);
  assert.equal(world.alerts.mails.length, 2);
});

test('LH-7: many 400 in one cycle take no assignment away, and that is told', async () => {
  await using world = await start({
    room: { ...worldOf({ devices: 6, robots: 6 }), faults: [badRequest] },
    prepare: many(6),
  });
  await world.pass(minute);
  assert.equal((await world.db.selectFrom('Asignaciones').selectAll().execute()).length, 6);
  assert.equal(world.alerts.of('deletions_stopped').length, 1);
});

test('LH-7, LH-15: where the Control Room refuses our token nobody loses an assignment or a slot', async () => {
  await using world = await start({
    room: {
      faults: [
        { endpoint: 'deploy', status: 400, body: '{"message":"Access token expired"}', times: 4 },
      ],
    },
  });
  await world.pass(5 * minute);
  assert.equal((await world.db.selectFrom('Asignaciones').selectAll().execute()).length, 1);
  assert.equal(world.fake.runs.length, 1);
});

test('LH-21: a robot without targets is told apart from a device that is away: it is switched off, and told once', async () => {
  const { robots, ...rest } = worldOf({ devices: 1, robots: 1 });
  await using world = await start({
    room: { ...rest, robots: robots.map((robot) => ({ ...robot, hasNoTargets: true })) },
  });
  await world.pass(5 * minute);
  assert.equal(deploys(world).length, 1);
  const [robot] = await world.db.selectFrom('Robots').selectAll().execute();
  assert.equal(robot?.Activo, 0);
  assert.equal(world.alerts.of('robot_without_targets').length, 1);
  assert.equal((await world.db.selectFrom('Asignaciones').selectAll().execute()).length, 1);
});

for (const status of [403, 404, 409])
  test(`L-36: ${status} is one call, an ERROR line and no row; the assignment stays, and the next try waits`, async () => {
    await using world = await start({
      room: { faults: [{ endpoint: 'deploy', status, body: '{"message":"no"}' }] },
    });
    await world.pass(20 * second);
    assert.equal(deploys(world).length, 1);
    assert.ok(world.lines(/"error".*Robot 9001/).length >= 1);
    assert.deepEqual(await world.executions(), []);
    assert.equal((await world.db.selectFrom('Asignaciones').selectAll().execute()).length, 1);
  });

test('LH-18: an online robot that fails for good is tried less and less often', async () => {
  await using world = await World.start({
    room: { faults: [{ endpoint: 'deploy', status: 404, body: '{"message":"no such bot"}' }] },
    prepare: onlineRobot,
  });
  await world.pass(hour);
  const count = deploys(world).length;
  assert.ok(count >= 4 && count <= 9, `${count} calls in an hour`);
});

test('L-26: never more deploy calls at once than the settings say', async () => {
  await using world = await start({
    room: {
      ...worldOf({ devices: 25, robots: 25 }),
      faults: [{ endpoint: 'deploy', answerDelayMs: 5 * second }],
    },
    prepare: many(25),
  });
  await world.pass(minute);
  assert.equal(world.fake.runs.length, 25);
  assert.equal(world.fake.calls.most('deploy'), 10);
});

test('L-69: ten at once with five seconds each: two deployments a second', async () => {
  await using world = await start({
    room: {
      ...worldOf({ devices: 40, robots: 40 }),
      faults: [{ endpoint: 'deploy', answerDelayMs: 5 * second }],
    },
    prepare: many(40),
  });
  await world.pass(minute);
  const times = world.fake.runs.map(({ acceptedAt }) => acceptedAt);
  const seconds = (Math.max(...times) - Math.min(...times)) / second + 5;
  assert.ok(40 / seconds >= 1.9, `40 in ${seconds} s`);
});

test('L-27, S-88: a batch begins when the one before has ended whole, its slowest call included', async () => {
  await using world = await start({
    settings: { LANZADOR_MAX_WORKERS: '2' },
    room: { ...worldOf({ devices: 4, robots: 4 }), faults: [slowRobot(9_001, 40 * second)] },
    prepare: many(4),
  });
  await world.pass(30 * second);
  assert.deepEqual(
    deploys(world).map(({ body }) => JSON.parse(body).botId),
    [9_001, 9_002],
  );
  await world.pass(40 * second);
  assert.equal(world.fake.runs.length, 4);
});

test('LH-2, S-88: in window mode one slow call holds up nobody, and what failed stands in line again', async () => {
  await using world = await start({
    settings: { LANZADOR_MAX_WORKERS: '2', LANZADOR_MODO_DESPLIEGUE: 'ventana' },
    room: {
      ...worldOf({ devices: 4, robots: 4 }),
      faults: [
        slowRobot(9_001, 40 * second),
        { endpoint: 'deploy', robotId: 9_002, status: 412, body: 'Device is offline', times: 1 },
      ],
    },
    prepare: many(4),
  });
  await world.pass(30 * second);
  assert.deepEqual(
    deploys(world).map(({ body }) => JSON.parse(body).botId),
    [9_001, 9_002, 9_003, 9_004, 9_002],
  );
});

test('LH-26: every row ends in a result: a page of HTML, an empty body, no id, and its neighbours are deployed', async () => {
  await using world = await start({
    room: {
      ...worldOf({ devices: 5, robots: 5 }),
      faults: [
        { endpoint: 'deploy', robotId: 9_001, status: 500, body: '<html>oops</html>' },
        { endpoint: 'deploy', robotId: 9_002, status: 400, body: '' },
        { endpoint: 'deploy', robotId: 9_003, omitsDeploymentId: true },
        { endpoint: 'deploy', robotId: 9_004, garbles: true },
      ],
    },
    prepare: many(5),
  });
  await world.pass(20 * second);
  const states = (await world.jobs()).map(({ state }) => state);
  assert.deepEqual(states, [
    'SIN_CONFIRMAR',
    'DEPLOY_FAILED',
    'SIN_CONFIRMAR',
    'SIN_CONFIRMAR',
    'DEPLOYED',
  ]);
});

test('L-39, LH-26: parameters of a robot go before the default input; what is no input is told and passed over', async () => {
  await using world = await start({
    prepare: async (db) => {
      await many(2)(db);
      await db
        .updateTable('Robots')
        .set({ Parametros: '{"in_Cliente":{"type":"STRING","string":"ACME"}}' })
        .where('RobotId', '=', 9_001)
        .execute();
      await db
        .updateTable('Robots')
        .set({ Parametros: '{oops' })
        .where('RobotId', '=', 9_002)
        .execute();
    },
  });
  await world.pass(20 * second);
  assert.deepEqual(
    deploys(world).map(({ body }) => JSON.parse(body).botInput),
    [
      { in_Cliente: { type: 'STRING', string: 'ACME' } },
      { in_NumRepeticion: { type: 'NUMBER', number: '3' } },
    ],
  );
  assert.equal(world.lines('no bot input').length, 1);
});

test('LH-17: a device that was away is asked about while something is due there, and gets it when it is back', async () => {
  const { devices, ...rest } = worldOf({ devices: 1, robots: 1 });
  await using world = await start({
    room: { ...rest, devices: devices.map((one) => ({ ...one, status: 'DISCONNECTED' as const })) },
  });
  await world.pass(5 * minute);
  assert.equal(deploys(world).length, 0);
  const [waiting] = await world.jobs();
  assert.match(String(waiting?.data.reason), /not connected/);
  world.fake.setDeviceStatus(101, 'CONNECTED');
  await world.pass(90 * second);
  assert.equal(world.fake.runs.length, 1);
});

test('S-93: assignments and schedules are read anew each cycle, whoever writes them', async () => {
  await using world = await start({ prepare: async () => {} });
  await world.pass(minute);
  await world.db.updateTable('Robots').set({ EsOnline: 1 }).where('RobotId', '=', 9_001).execute();
  await assign(world.db, { RobotId: 9_001, EquipoId: 101 });
  await world.pass(cycle + second);
  assert.equal(world.fake.runs.length, 1);
});

test('S-90: a cycle that changes nothing writes nothing but its counter', async () => {
  await using world = await World.start({ prepare: dailyAtNine });
  await world.pass(minute);
  const counters = () =>
    world.db
      .selectFrom('Ciclos')
      .select('Vueltas')
      .where('Ciclo', '=', 'desplegador')
      .executeTakeFirst();
  const before = await counters();
  const position = await world.db.selectFrom('Posiciones').selectAll().execute();
  await world.pass(10 * minute);
  assert.equal((await counters())?.Vueltas, (before?.Vueltas ?? 0) + 40);
  assert.deepEqual(await world.jobs(), []);
  assert.deepEqual(await world.db.selectFrom('Posiciones').selectAll().execute(), position);
});

test('L-24, S-86: with the deploy call go the gateway’s token, the static key and the proof of the job', async () => {
  await using world = await start();
  await world.pass(minute);
  const { headers } = JSON.parse(deploys(world)[0]?.body ?? '').callbackInfo;
  assert.equal(headers.Authorization, 'Bearer gateway-token');
  assert.equal(headers['X-Authorization'], 'static-key-of-callbacks');
  assert.match(headers['X-Capataz-Job'], /^[0-9a-f-]{36}\.[\w-]{43}$/);
});

function slowRobot(robotId: number, answerDelayMs: number) {
  return { endpoint: 'deploy', robotId, answerDelayMs } as const;
}

async function onlineRobot(db: Db): Promise<void> {
  await addRobot(db, { EsOnline: 1 });
  await addDevice(db);
  await assign(db, { RobotId: 9_001, EquipoId: 101 });
}

/** So many robots, each at 09:00 on a device of its own. */
function many(count: number) {
  return async (db: Db): Promise<void> => {
    for (let n = 1; n <= count; n += 1) {
      await addRobot(db, { RobotId: 9_000 + n, Robot: `P${String(n).padStart(3, '0')}_Robot` });
      await addDevice(db, n);
      await addSchedule(db, { RobotId: 9_000 + n }, [100 + n]);
    }
  };
}
