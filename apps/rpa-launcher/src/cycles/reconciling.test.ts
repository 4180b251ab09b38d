/** What becomes of runs: the reconciler, callbacks, and deploy calls whose outcome was lost. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signedJob } from '../callbacks/signature.ts';
import {
  activeStates,
  finalStates,
  isActive,
  isFinal,
  reportedState,
} from '../execution/states.ts';
import { type RobotScript, worldOf } from '../fake-control-room/world.ts';
import { execution, justBeforeNine, onlyJob, startAtNine } from '../fixtures/nine.ts';
import { addDevice, addRobot, addSchedule, assign, dailyAtNine } from '../simulation/tables.ts';
import { day, hour, minute, second, World } from '../simulation/world.ts';

/** Cycles that are far apart, for tests that last days. */
const slowly = {
  LANZADOR_INTERVALO_LANZAMIENTO_SEG: '1800',
  LANZADOR_INTERVALO_CONCILIACION_SEG: '3600',
};

test('L-51, LH-25: thirteen states, each active, final or UNKNOWN; whatever asks looks in one table', () => {
  assert.deepEqual([...activeStates, ...finalStates, 'UNKNOWN', 'UPDATE'].length, 13);
  for (const state of activeStates)
    assert.deepEqual([isActive(state), isFinal(state)], [true, false]);
  for (const state of finalStates)
    assert.deepEqual([isActive(state), isFinal(state)], [false, true]);
  assert.equal(reportedState('UPDATE'), 'RUNNING');
  assert.equal(reportedState('run_timed_out'), 'RUN_TIMED_OUT');
  assert.equal(reportedState('BOTSTORE_PACKAGE_INSTALLED'), null);
});

for (const end of [
  'COMPLETED',
  'RUN_FAILED',
  'DEPLOY_FAILED',
  'RUN_ABORTED',
  'RUN_TIMED_OUT',
] as const)
  test(`L-42, L-50, L-52: the reconciler stores the end ${end} without any callback, and the device is free`, async () => {
    await using world = await startAtNine({ end, durationMs: minute });
    await world.pass(16 * minute);
    const row = await execution(world);
    assert.deepEqual([row.Estado, row.CallbackInfo], [end, null]);
    assert.match(row.FechaFin ?? '', /^2026-03-02 09:01:1/);
    await world.db
      .updateTable('Robots')
      .set({ EsOnline: 1 })
      .where('RobotId', '=', 9_002)
      .execute();
    await assign(world.db, { RobotId: 9_002, EquipoId: 101 });
    await world.pass(20 * second);
    assert.equal(world.fake.runs.length, 2);
  });

test('L-42, L-51: RUN_COMPLETED is an end as COMPLETED is', async () => {
  await using world = await startAtNine({}, { callsBack: true });
  await world.pass(2 * minute);
  const row = await execution(world);
  assert.equal(row.Estado, 'RUN_COMPLETED');
  assert.match(row.CallbackInfo ?? '', /"deploymentId"/);
  assert.match(row.FechaFin ?? '', /^2026-03-02 09:01:1/);
});

test('L-43: active states are stored with no end, and UPDATE as RUNNING', async () => {
  await using world = await startAtNine({ durationMs: null, saysUpdate: true });
  await world.pass(16 * minute);
  const row = await execution(world);
  assert.deepEqual([row.Estado, row.FechaFin], ['RUNNING', null]);
  assert.match(row.FechaInicioReal ?? '', /^2026-03-02 09:00:1/);
});

test('L-48: what the Control Room says in UTC stands in the tables in the time of Buenos Aires', async () => {
  await using world = await startAtNine({ durationMs: minute });
  await world.pass(16 * minute);
  const row = await execution(world);
  const ended = world.fake.runs[0]?.endedAt ?? 0;
  assert.match(new Date(ended).toISOString(), /^2026-03-02T12:01:1/);
  assert.match(row.FechaFin ?? '', /^2026-03-02 09:01:1/);
  assert.equal(row.FechaFinUtc, ended);
});

test('S-85: dates for people are local, what decides is the instant, and a deployment that never was has an id of our own', async () => {
  await using world = await startAtNine(
    {},
    {
      room: {
        ...worldOf({ devices: 1, robots: 1 }),
        faults: [{ endpoint: 'deploy', status: 400, body: '{}' }],
      },
    },
  );
  await world.pass(minute);
  const row = await execution(world);
  assert.equal(row.DeploymentId, `local:${row.JobId}`);
  assert.match(row.FechaInicio, /^2026-03-02 09:00/);
  assert.match(new Date(row.FechaInicioUtc).toISOString(), /^2026-03-02T12:00/);
  await world.pass(15 * minute);
  assert.equal(world.fake.calls.count('activity'), 0);
});

const lostAfter = (forMs: number | null): RobotScript => ({
  durationMs: 40 * minute,
  unknown: { afterMs: 5 * minute, forMs },
});

test('L-44, L-45, L-67: UNKNOWN is stored without an end, with its time and a try more; what is said next counts', async () => {
  await using world = await startAtNine(lostAfter(20 * minute));
  await world.pass(16 * minute);
  const unknown = await execution(world);
  assert.deepEqual([unknown.Estado, unknown.FechaFin], ['UNKNOWN', null]);
  assert.equal(unknown.IntentosConciliadorFallidos, 1);
  assert.match(unknown.FechaUltimoUNKNOWN ?? '', /^2026-03-02 09:1/);
  await world.pass(15 * minute);
  assert.equal((await execution(world)).Estado, 'RUNNING');
  await world.pass(15 * minute);
  const row = await execution(world);
  assert.equal(row.Estado, 'COMPLETED');
  assert.equal(row.IntentosConciliadorFallidos, 0);
  assert.match(row.FechaFin ?? '', /^2026-03-02 09:40/);
});

for (const isBack of [false, true])
  test(`L-52, LH-8, S-89: an UNKNOWN holds its device for two hours from the first sighting; then the Control Room is asked, and it ${isBack ? 'runs: it is told' : 'is idle: the next one goes'}`, async () => {
    // Seen UNKNOWN at 11:59:55, when it is reconciled; let go of at 13:59:55.
    const forMs = isBack ? 4 * hour + 30 * minute : null;
    await using world = await startAtNine(
      { durationMs: null, unknown: { afterMs: minute, forMs } },
      {
        settings: {
          LANZADOR_INTERVALO_CONCILIACION_SEG: '10800',
          LANZADOR_INTERVALO_LANZAMIENTO_SEG: '60',
        },
        prepare: async (db) => {
          await dailyAtNine(db);
          await addRobot(db, { RobotId: 9_002, Robot: 'P002_Robot' });
          await addSchedule(db, { RobotId: 9_002, HoraInicio: '13:00', Tolerancia: 180 });
        },
      },
    );
    await world.pass(5 * hour - minute);
    assert.equal((await execution(world)).Estado, 'UNKNOWN');
    assert.equal(world.fake.calls.count('deploy'), 1);
    await world.pass(10 * minute);
    assert.equal(world.fake.calls.count('deploy'), isBack ? 1 : 2);
    assert.equal(world.alerts.of('run_unknown').length > 0, isBack);
  });

test('L-46, LH-13, LH-14: a deployment that the Control Room does not list stays active; only the count goes up, and it is told', async () => {
  await using world = await startAtNine({ durationMs: null, vanishesAfterMs: second });
  await world.pass(31 * minute);
  const row = await execution(world);
  assert.deepEqual([row.Estado, row.FechaFin], ['DEPLOYED', null]);
  assert.equal(row.IntentosConciliadorFallidos, 2);
  await world.pass(hour);
  assert.equal((await execution(world)).Estado, 'DEPLOYED');
  assert.ok(world.alerts.of('run_not_found').length >= 1);
});

test('LH-13: a batch that fails counts for nobody, and the runs of one deployment are read together, the worst first', async () => {
  await using world = await startAtNine({ durationMs: 5 * minute, activities: 3 });
  world.fake.faults.add({ endpoint: 'activity', status: 503, body: 'busy' });
  await world.pass(16 * minute);
  assert.equal((await execution(world)).IntentosConciliadorFallidos, 0);
  assert.ok(world.lines('could not be asked about').length >= 1);
});

test('LH-14: with an inference a run that is missing too often ends as COMPLETED_INFERRED', async () => {
  await using world = await startAtNine(
    { durationMs: null, vanishesAfterMs: second },
    { settings: { LANZADOR_CONCILIACION_INFERENCIA_MAX_INTENTOS: '3' } },
  );
  await world.pass(46 * minute);
  const row = await execution(world);
  assert.equal(row.Estado, 'COMPLETED_INFERRED');
  assert.notEqual(row.FechaFin, null);
});

/** Days in which no launcher runs: they cost no time, and what it keeps has to last. */
async function later(world: World, ms: number): Promise<World> {
  await world.stop();
  await world.clock.advance(ms);
  const next = await World.start({ ...kept, callsBack: false, previous: world });
  await next.pass(minute);
  return next;
}
const kept = { config: { storeUrl: null }, databaseUrl: 'file' } as const;

test('L-47, L-67, S-55: without a positive sign for 30 days a run ends as UNKNOWN: not after 29, and after 31', async () => {
  await using world = await startAtNine(
    { durationMs: null, unknown: { afterMs: 20 * minute, forMs: null } },
    kept,
  );
  await world.pass(31 * minute);
  const unknown = await execution(world);
  assert.deepEqual([unknown.Estado, unknown.FechaFin], ['UNKNOWN', null]);
  const after29 = await later(world, 29 * day);
  assert.deepEqual(
    [(await execution(after29)).Estado, (await execution(after29)).FechaFin],
    ['UNKNOWN', null],
  );
  const after30 = await later(after29, day - hour);
  assert.equal((await execution(after30)).FechaFin, null);
  const after31 = await later(after30, day);
  const row = await execution(after31);
  assert.equal(row.Estado, 'UNKNOWN');
  assert.match(row.FechaFin ?? '', /^2026-04-0/);
  const [job] = (await after31.jobs()).filter(({ id }) => id === row.JobId);
  assert.equal(job?.status, 'finished');
  await after31.stop();
});

test('L-47, LH-8: a run that the Control Room says is RUNNING after 40 days is not aged', async () => {
  await using world = await startAtNine({ durationMs: null }, kept);
  await world.pass(31 * minute);
  const after20 = await later(world, 20 * day);
  const after40 = await later(after20, 20 * day);
  const row = await execution(after40);
  assert.deepEqual([row.Estado, row.FechaFin], ['RUNNING', null]);
  await after40.stop();
});

test('L-49, LH-11, B-071: what a callback has ended the reconciler never changes, nor does a second callback', async () => {
  await using world = await startAtNine({ durationMs: null });
  await world.pass(30 * second);
  const job = await onlyJob(world);
  const deploymentId = world.fake.runs[0]?.deploymentId ?? '';
  const call = (status: string) => callback(world, job.id, { deploymentId, status });
  assert.equal((await call('RUN_COMPLETED')).status, 200);
  assert.equal((await call('RUN_FAILED')).body.message, 'already processed');
  await world.pass(31 * minute);
  const row = await execution(world);
  assert.equal(row.Estado, 'RUN_COMPLETED');
  assert.match(row.CallbackInfo ?? '', /RUN_COMPLETED/);
  const evidence = await world.db.selectFrom('Callbacks').select(['Estado', 'Resultado']).execute();
  assert.deepEqual(evidence, [
    { Estado: 'RUN_COMPLETED', Resultado: 'APLICADO' },
    { Estado: 'RUN_FAILED', Resultado: 'REPETIDO' },
  ]);
});

test('L-40: neither what has ended nor what a callback has ended is asked about again', async () => {
  await using world = await startAtNine({ durationMs: minute }, { callsBack: true });
  await world.pass(2 * minute);
  const before = world.fake.calls.count('activity');
  await world.pass(hour);
  assert.equal(world.fake.calls.count('activity'), before);
});

function callback(
  world: World,
  jobId: string | null,
  body: object,
  headers: Readonly<Record<string, string>> = {},
) {
  const key = world.settings.callbackToken ?? '';
  const named = jobId === null ? {} : { 'x-capataz-job': signedJob(jobId, key) };
  return world.launcher.callbacks.take({
    headers: { 'x-authorization': key, ...named, ...headers },
    body: JSON.stringify(body),
  });
}

test('S-86, LH-12, B-071: without the key, or with a foreign proof, nothing is taken; the dynamic token is not looked at', async () => {
  await using world = await startAtNine({ durationMs: null });
  await world.pass(30 * second);
  const { id } = await onlyJob(world);
  const body = { deploymentId: world.fake.runs[0]?.deploymentId ?? '', status: 'RUN_COMPLETED' };
  const refused = [
    await world.launcher.callbacks.take({ headers: {}, body: JSON.stringify(body) }),
    await callback(world, id, body, { 'x-authorization': 'wrong' }),
    await callback(world, null, body, { 'x-capataz-job': `${id}.forged` }),
  ];
  assert.deepEqual(
    refused.map(({ status }) => status),
    [401, 401, 401],
  );
  assert.equal((await callback(world, id, { oops: 1 })).status, 400);
  assert.equal((await onlyJob(world)).ended_at, null);
  const late = await callback(world, id, body, { authorization: 'Bearer spent-long-ago' });
  assert.equal(late.status, 200);
  await world.settled();
  assert.equal((await execution(world)).Estado, 'RUN_COMPLETED');
});

test('S-86: a callback with much to say ends its run; one with controls in its words is refused', async () => {
  await using world = await startAtNine({ durationMs: null });
  await world.pass(30 * second);
  const { id } = await onlyJob(world);
  const deploymentId = world.fake.runs[0]?.deploymentId ?? '';
  for (const odd of [
    { deploymentId, status: 'RUN_\0' },
    { deploymentId: '\0', status: 'RUN_FAILED' },
  ])
    assert.equal((await callback(world, id, odd)).status, 400);
  const botOutput = { text: 'x'.repeat(1_000_000) };
  const { status } = await callback(world, id, {
    deploymentId,
    status: 'RUN_COMPLETED',
    botOutput,
  });
  assert.equal(status, 200);
  await world.settled();
  assert.equal((await execution(world)).Estado, 'RUN_COMPLETED');
});

test('LH-10: a callback of a deployment that nobody knows yet is kept, and counts when its job has it', async () => {
  await using world = await startAtNine({ durationMs: null });
  // One of these will be the deployment's: the fake counts its ids.
  for (let n = 1; n < 10; n += 1) {
    const deploymentId = `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
    const { status } = await callback(world, null, { deploymentId, status: 'RUN_FAILED' });
    assert.equal(status, 202);
  }
  await world.pass(30 * second);
  assert.equal((await execution(world)).Estado, 'RUN_FAILED');
});

test('LH-10, S-86: a robot that ends, and calls back, before the deploy call is answered has its row and its end', async () => {
  await using world = await startAtNine(
    {},
    {
      callsBack: true,
      room: {
        ...worldOf({ devices: 1, robots: 1, script: { pendingMs: 0, durationMs: 0 } }),
        switches: {
          callbacks: { delayMs: 0, copies: 2, comesBeforeAnswer: true, headers: null, retries: 0 },
        },
      },
    },
  );
  await world.pass(30 * second);
  const row = await execution(world);
  assert.equal(row.Estado, 'RUN_COMPLETED');
  assert.equal(row.DeploymentId, world.fake.runs[0]?.deploymentId);
  assert.equal(world.fake.runs.length, 1);
});

test('LH-11: a callback that is no end sets none, and one of no known state changes nothing', async () => {
  await using world = await startAtNine({ durationMs: null });
  await world.pass(30 * second);
  const { id } = await onlyJob(world);
  const deploymentId = world.fake.runs[0]?.deploymentId ?? '';
  await callback(world, id, { deploymentId, status: 'RUNNING' });
  await world.settled();
  assert.deepEqual(
    [(await execution(world)).Estado, (await execution(world)).FechaFin],
    ['RUNNING', null],
  );
  assert.equal((await callback(world, id, { deploymentId, status: 'DANCING' })).status, 202);
  assert.equal((await onlyJob(world)).state, 'RUNNING');
});

test('B-067: a deployment that waits in a queue for hours holds its device, runs once, and a start in the pause is shown', async () => {
  const { devices, ...rest } = worldOf({
    devices: 1,
    robots: 1,
    script: { durationMs: 5 * minute },
  });
  await using world = await startAtNine(
    {},
    {
      settings: {
        LANZADOR_PAUSA_INICIO_HHMM: '11:00',
        LANZADOR_PAUSA_FIN_HHMM: '13:00',
        LANZADOR_HABILITAR_SYNC: 'False',
        LANZADOR_INTERVALO_LANZAMIENTO_SEG: '60',
      },
      room: {
        ...rest,
        devices: devices.map((one) => ({ ...one, status: 'OFFLINE' as const })),
        switches: { offline: 'queue' },
      },
    },
  );
  await world.pass(3 * hour);
  assert.equal((await execution(world)).Estado, 'QUEUED');
  assert.ok(world.alerts.of('run_orphan').length >= 1);
  world.fake.setDeviceStatus(101, 'CONNECTED');
  await world.pass(20 * minute);
  assert.equal(world.fake.runs.length, 1);
  const row = await execution(world);
  assert.deepEqual([row.Estado, row.InicioEnPausa], ['COMPLETED', 1]);
});

test('S-94: a run that takes much longer than usual is told once', async () => {
  await using world = await startAtNine({ durationMs: 50 * minute });
  await world.pass(80 * minute);
  const mails = world.alerts.mailsAbout('longer than usual');
  assert.equal(mails.length, 1);
});

test('LH-5: a Control Room whose clock is away from ours is told; ends are its own, all else is decided by our clock', async () => {
  await using world = await startAtNine(
    {},
    {
      room: { ...worldOf({ devices: 1, robots: 1 }), switches: { clockAheadMs: 90 * second } },
    },
  );
  await world.pass(16 * minute);
  assert.ok(world.alerts.of('clock_skew').length >= 1);
  assert.equal(world.fake.runs.length, 1);
});

test('LH-22: a schedule that is made inside its own window fires at once', async () => {
  await using world = await startAtNine(
    {},
    { now: justBeforeNine + 20 * minute, prepare: async () => {} },
  );
  await world.pass(minute);
  await addSchedule(world.db, { HoraInicio: '09:00' });
  await world.pass(30 * second);
  assert.equal(world.fake.runs.length, 1);
});

test('S-94: runs that ended go into the history after a day, and are forgotten there later', async () => {
  await using world = await startAtNine(
    {},
    {
      settings: { ...slowly, LANZADOR_HISTORICO_DIAS: '3' },
      prepare: async (db) => {
        await addRobot(db);
        await addDevice(db);
        await addSchedule(db, { TipoProgramacion: 'Especifica', FechaEspecifica: '2026-03-02' });
      },
    },
  );
  await world.pass(2 * day);
  assert.deepEqual(await world.executions(), []);
  const past = () => world.db.selectFrom('Ejecuciones_Historico').selectAll().execute();
  assert.partialDeepStrictEqual(await past(), [{ RobotId: 9_001, Estado: 'COMPLETED' }]);
  await world.pass(2 * day);
  assert.deepEqual(await past(), []);
});
