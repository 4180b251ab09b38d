import assert from 'node:assert/strict';
import { test } from 'node:test';
import { executionRecord } from '../execution/record.ts';
import { activeStates } from '../execution/states.ts';
import { noSchedule } from '../simulation/tables.ts';
import type { OpenExecution, PlanInput } from './model.ts';
import { plan } from './plan.ts';

const zone = 'America/Argentina/Buenos_Aires';
const at = (text: string): number => Date.parse(`${text}-03:00`);
const nine = at('2026-03-02T09:00');

const robot = (RobotId: number, changes = {}) => ({
  ...{ RobotId, Robot: `R${RobotId}`, Parametros: null, Activo: 1, EsOnline: 0 },
  ...{ PrioridadBalanceo: 100, ...changes },
});
const device = (EquipoId: number, changes = {}) => ({
  ...{ EquipoId, Equipo: `PC-${EquipoId}`, UserId: 5_000, Activo_SAM: 1, PoolId: null },
  ...{ Conectado: 1, EstadoA360: 'CONNECTED', ...changes },
});
const schedule = (ProgramacionId: number, RobotId: number, changes = {}) => ({
  ...noSchedule,
  ...{ ProgramacionId, RobotId, TipoProgramacion: 'Diaria', HoraInicio: '09:00' },
  ...{ Activo: 1, EsCiclico: 0, ...changes },
});
const scheduled = (RobotId: number, EquipoId: number, ProgramacionId: number) => ({
  ...{ RobotId, EquipoId, ProgramacionId, EsProgramado: 1 },
});
const online = (RobotId: number, EquipoId: number) => ({
  ...{ RobotId, EquipoId, ProgramacionId: null, EsProgramado: 0 },
});

function input(changes: Partial<PlanInput> = {}): PlanInput {
  return {
    ...{ now: nine, zone, pause: null, knowsConnections: true, open: [], started: new Set() },
    ...{ failures: new Map(), lastEnds: new Map(), pools: [], executed: new Set<string>() },
    robots: [robot(1)],
    devices: [device(7)],
    schedules: [schedule(3, 1)],
    assignments: [scheduled(1, 7, 3)],
    ...changes,
  };
}

function execution(state: string, record = {}, words = {}): OpenExecution {
  return {
    ...{ id: 'job-1', state, isQuarantined: false, enteredAt: nine },
    record: executionRecord.parse(record),
    input: {
      ...{ origin: 'programada', robotId: 9, robot: 'R9', deviceId: 7, device: 'pc-7' },
      ...{ scheduleId: 3, date: '2026-03-02', hour: '08:00', startsAt: nine, endsAt: nine + 1 },
      ...{ botInput: null, by: null },
      ...words,
    },
  };
}

const reasons = (changes: Partial<PlanInput>) =>
  plan(input(changes)).waits.map((one) => one.reason);

for (const state of [...activeStates, 'DESPLEGANDO', 'SIN_CONFIRMAR', 'UNKNOWN'])
  test(`L-19, S-87: a device with an execution in ${state} gets nothing, by its host name in whatever case`, () => {
    const { deploys, waits } = plan(input({ open: [execution(state)] }));
    assert.deepEqual(deploys, []);
    assert.match(waits[0]?.reason ?? '', new RegExp(`R9 is ${state} there`));
  });

test('L-52, S-89: an UNKNOWN that was let go of holds nobody up, and the Control Room is asked first', () => {
  const { deploys } = plan(input({ open: [execution('UNKNOWN', { isReleased: true })] }));
  assert.deepEqual(
    deploys.map(({ asksFirst }) => asksFirst),
    [true],
  );
});

test('L-22: an inactive robot or schedule, or an assignment of none, is not due', () => {
  for (const changes of [
    { robots: [robot(1, { Activo: 0 })] },
    { schedules: [schedule(3, 1, { Activo: 0 })] },
    { assignments: [] },
    { assignments: [scheduled(1, 7, 99)] },
  ] satisfies Partial<PlanInput>[]) {
    const { starts, deploys } = plan(input(changes));
    assert.deepEqual([starts, deploys], [[], []]);
  }
});

test('L-22: what was switched off or taken away after its job began is not deployed, and says so', () => {
  const words = { robotId: 1, robot: 'R1', hour: '09:00', endsAt: nine + 3_600_000 };
  const open = [execution('PENDIENTE', {}, words)];
  assert.equal(plan(input({ open })).deploys.length, 1);
  const found = [
    { robots: [robot(1, { Activo: 0 })] },
    { schedules: [schedule(3, 1, { Activo: 0 })] },
    { assignments: [] },
  ].map((changes) => reasons({ ...changes, open }));
  assert.deepEqual(found, [
    ['the robot is not active'],
    ['the schedule is not active'],
    ['the assignment is gone'],
  ]);
});

test('LH-17: a device that is switched off, away, in a closed pool or unknown is no place to deploy to', () => {
  const found = [
    { devices: [device(7, { Activo_SAM: 0 })] },
    { devices: [device(7, { Conectado: 0, EstadoA360: 'DISCONNECTED' })] },
    { devices: [device(7, { PoolId: 4 })], pools: [{ PoolId: 4, Activo: 0 }] },
  ].map(reasons);
  assert.deepEqual(found, [
    ['the device is switched off'],
    ['the device is not connected (DISCONNECTED)'],
    ['the pool of the device is not active'],
  ]);
  const blind = { devices: [device(7, { Conectado: 0 })], knowsConnections: false };
  assert.equal(plan(input(blind)).deploys.length, 1);
});

test('L-21: of several that are due on a device one goes: scheduled before online, then priority, then hour', () => {
  const all = input({
    robots: [
      robot(1),
      robot(2, { PrioridadBalanceo: 5 }),
      robot(3, { EsOnline: 1, PrioridadBalanceo: 1 }),
    ],
    schedules: [schedule(3, 1), schedule(4, 2, { HoraInicio: '08:30' })],
    assignments: [scheduled(1, 7, 3), scheduled(2, 7, 4), online(3, 7)],
  });
  const { deploys, waits, starts } = plan(all);
  assert.deepEqual(
    deploys.map((one) => one.input.robotId),
    [2],
  );
  assert.deepEqual(
    waits.map((one) => [one.input.robotId, one.reason]),
    [
      [1, 'R2 goes first'],
      [3, 'R2 goes first'],
    ],
  );
  // Both slots have their jobs, whichever runs first; an online robot has none before it can run.
  assert.deepEqual(
    starts.map((one) => one.robotId),
    [1, 2],
  );
});

test('S-92: in the pause slots begin and nothing is deployed', () => {
  const pause = { name: 'pausa', at: () => ({ start: nine, end: nine + 1 }) };
  const { starts, deploys, waits } = plan(input({ pause }));
  assert.deepEqual([starts.length, deploys.length], [1, 0]);
  assert.equal(waits[0]?.reason, 'deployments pause');
});

test('LH-18: a pair that failed for a lasting reason waits its time', () => {
  const failures = new Map([['1/pc-7', { notBefore: nine + 1, reason: 'no license' }]]);
  assert.deepEqual(reasons({ failures }), ['it failed here before, and waits: no license']);
  assert.equal(plan(input({ failures, now: nine + 1 })).deploys.length, 1);
});

test('cyclic schedules keep their interval from the end of one run to the next, however it ended', () => {
  const cyclic = {
    schedules: [schedule(3, 1, { EsCiclico: 1, IntervaloEntreEjecuciones: 10, HoraFin: '18:00' })],
  };
  const after = (ms: number) =>
    plan(
      input({ ...cyclic, lastEnds: new Map([['1/pc-7', nine + 60_000 - ms]]), now: nine + 60_000 }),
    );
  assert.equal(after(599_999).deploys.length, 0);
  assert.equal(after(600_000).deploys.length, 1);
});

test('a repeated one that nobody wants any more is left out', () => {
  const words = { origin: 'online', robotId: 1, scheduleId: null, hour: null, date: null };
  const open = [execution('PENDIENTE', {}, words)];
  const { leftOut } = plan(input({ open, assignments: [online(1, 7)], schedules: [] }));
  assert.deepEqual(leftOut, [{ jobId: 'job-1', reason: 'the robot is not online any more' }]);
});
