import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noSchedule } from '../simulation/tables.ts';
import { localText } from './local-time.ts';
import { overlaps } from './overlap.ts';
import { isAllInPause, pauseOf } from './pause.ts';
import { cyclicWindowAt, daysOf, type Schedule, slotsAt, slotsBetween } from './slots.ts';

const zone = 'America/Argentina/Buenos_Aires';
/** Wall time in Buenos Aires, three hours behind UTC all year. */
const at = (text: string): number => Date.parse(`${text}-03:00`);

function schedule(changes: Partial<Schedule> = {}): Schedule {
  const own = { ProgramacionId: 1, RobotId: 1, Activo: 1, EsCiclico: 0, HoraInicio: '09:00' };
  return { ...noSchedule, TipoProgramacion: 'Diaria', ...own, ...changes };
}

function datesOf(one: Schedule, from: string, to: string, inZone = zone): string[] {
  const slots = slotsBetween(one, { after: at(from), until: at(to), zone: inZone });
  return slots.map(({ date }) => date);
}

test('L-16: a slot is open from its hour to the end of its tolerance, both included, and not a second more', () => {
  const one = schedule();
  const open = (time: string): boolean => slotsAt(one, at(`2026-03-02T${time}`), zone).length === 1;
  assert.deepEqual(['08:59:59', '09:00:00', '09:59:59', '10:00:00', '10:00:01'].map(open), [
    false,
    true,
    true,
    true,
    false,
  ]);
});

test('L-17: weekly, monthly, range and dated schedules come on their days alone', () => {
  const march = ['2026-03-01T00:00', '2026-04-01T00:00'] as const;
  const weekly = schedule({ TipoProgramacion: 'Semanal', DiasSemana: 'Lu,mié' });
  assert.deepEqual(datesOf(weekly, '2026-03-01T00:00', '2026-03-12T00:00'), [
    '2026-03-02',
    '2026-03-04',
    '2026-03-09',
    '2026-03-11',
  ]);
  const monthly = schedule({ TipoProgramacion: 'Mensual', DiaDelMes: 15 });
  assert.deepEqual(datesOf(monthly, ...march), ['2026-03-15']);
  const dated = schedule({ TipoProgramacion: 'Especifica', FechaEspecifica: '2026-03-20' });
  assert.deepEqual(datesOf(dated, ...march), ['2026-03-20']);
  const range = schedule({ TipoProgramacion: 'RangoMensual', DiaInicioMes: 1, DiaFinMes: 2 });
  assert.deepEqual(datesOf(range, ...march), ['2026-03-01', '2026-03-02']);
  const last = schedule({ TipoProgramacion: 'RangoMensual', UltimosDiasMes: 2 });
  assert.deepEqual(datesOf(last, ...march), ['2026-03-30', '2026-03-31']);
  const windowed = schedule({ FechaInicioVentana: '2026-03-10', FechaFinVentana: '2026-03-11' });
  assert.deepEqual(datesOf(windowed, ...march), ['2026-03-10', '2026-03-11']);
  assert.deepEqual(daysOf('LU, Sáb;do'), ['LU', 'SA', 'DO']);
});

test('LH-22: no tolerance is an hour, more than a day is a day, the 31st and 29 February come where they are', () => {
  const length = (Tolerancia: number | null): number => {
    const [slot] = slotsAt(schedule({ Tolerancia }), at('2026-03-02T09:00'), zone);
    return ((slot?.endsAt ?? 0) - (slot?.startsAt ?? 0)) / 60_000;
  };
  assert.deepEqual([null, 0, 1_440, 9_999].map(length), [60, 0, 1_440, 1_440]);
  const last = schedule({ TipoProgramacion: 'Mensual', DiaDelMes: 31 });
  assert.deepEqual(datesOf(last, '2026-02-01T00:00', '2026-06-01T00:00'), [
    '2026-03-31',
    '2026-05-31',
  ]);
  const leap = schedule({ TipoProgramacion: 'Mensual', DiaDelMes: 29 });
  assert.deepEqual(datesOf(leap, '2026-02-01T00:00', '2026-03-15T00:00'), []);
  assert.deepEqual(datesOf(leap, '2028-02-01T00:00', '2028-03-15T00:00'), ['2028-02-29']);
});

test('LH-9: a window over midnight belongs to the day on which it begins, day of the week and all', () => {
  const late = schedule({ HoraInicio: '23:50', TipoProgramacion: 'Semanal', DiasSemana: 'Lu' });
  const [slot] = slotsAt(late, at('2026-03-03T00:30'), zone);
  assert.equal(slot?.date, '2026-03-02');
  assert.equal(slotsAt(late, at('2026-03-03T23:55'), zone).length, 0);
});

test('LH-4: an hour that the clocks leave out is taken behind the gap, one that comes twice once', () => {
  const berlin = 'Europe/Berlin';
  const night = schedule({ HoraInicio: '02:30' });
  const slots = (day: string) =>
    slotsBetween(night, {
      after: Date.parse(`${day}T00:00Z`) - 4 * 3_600_000,
      until: Date.parse(`${day}T20:00Z`),
      zone: berlin,
    });
  const spring = slots('2026-03-29');
  assert.deepEqual(
    spring.map(({ startsAt }) => localText(startsAt, berlin)),
    ['2026-03-29 03:00:00'],
  );
  const autumn = slots('2026-10-25');
  assert.equal(autumn.length, 1);
  assert.equal(new Date(autumn[0]?.startsAt ?? 0).toISOString(), '2026-10-25T00:30:00.000Z');
  // The tolerance is elapsed time, not time on the wall.
  assert.equal((autumn[0]?.endsAt ?? 0) - (autumn[0]?.startsAt ?? 0), 3_600_000);
});

for (const [name, year] of [
  ['America/Nuuk', 2026],
  ['America/Santiago', 2026],
  ['Europe/Madrid', 2026],
  ['Australia/Lord_Howe', 2026],
  ['America/Sao_Paulo', 2018],
] as const)
  test(`LH-4: ${name}: in a year with its changes of the clocks each date has its hour once`, () => {
    const days = { after: Date.UTC(year, 0, 2), until: Date.UTC(year, 11, 31), zone: name };
    for (const HoraInicio of [
      '00:00',
      '00:30',
      '01:30',
      '02:15',
      '03:00',
      '12:00',
      '23:00',
      '23:30',
    ]) {
      const dates = slotsBetween(schedule({ HoraInicio }), days).map(({ date }) => date);
      assert.equal(new Set(dates).size, dates.length, HoraInicio);
      assert.ok(dates.length >= 362, `${HoraInicio}: ${dates.length}`);
    }
  });

test('LH-3: the same rows mean other instants in another zone', () => {
  const tokyo = slotsAt(schedule(), Date.parse('2026-03-02T00:30:00Z'), 'Asia/Tokyo');
  assert.equal(tokyo[0]?.startsAt, Date.parse('2026-03-02T00:00:00Z'));
  assert.equal(slotsAt(schedule(), Date.parse('2026-03-02T00:30:00Z'), zone).length, 0);
});

const pause = (from: string | null, to: string | null, inZone = zone) =>
  pauseOf({ pauseStart: from, pauseEnd: to, zone: inZone });

test('L-14, B-070: from 22:00 to 06:00 deployments pause, start included and end excluded, in the launcher’s zone', () => {
  const night = pause('22:00', '06:00');
  const paused = (time: string): boolean => (night?.at(at(`2026-03-02T${time}`)) ?? null) !== null;
  assert.deepEqual(
    ['21:59:59', '22:00:00', '23:59:00', '00:00:00', '05:59:59', '06:00:00'].map(paused),
    [false, true, true, true, true, false],
  );
  // The same with clocks that change within the pause: it ends at 06:00 on the wall, an hour earlier.
  const berlin = pause('22:00', '06:00', 'Europe/Berlin');
  const at6 = Date.parse('2026-03-29T04:00:00Z');
  assert.equal(berlin?.at(at6 - 1)?.end, at6);
  assert.equal(berlin?.at(at6), null);
});

test('L-15: a pause within one day', () => {
  const noon = pause('13:00', '14:00');
  const paused = (time: string): boolean => (noon?.at(at(`2026-03-02T${time}`)) ?? null) !== null;
  assert.deepEqual(['12:59:59', '13:00:00', '13:59:59', '14:00:00'].map(paused), [
    false,
    true,
    true,
    false,
  ]);
});

test('LH-6, B-070: a pause that begins when it ends is refused, an empty end is no pause, and a slot may lie in it whole', () => {
  assert.throws(() => pause('22:00', '22:00'), { code: 'CONFIG_INVALID', message: /PAUSA_FIN/ });
  assert.equal(pause(null, '06:00'), null);
  assert.equal(pause('22:00', null), null);
  const night = pause('22:00', '06:00');
  assert.equal(isAllInPause(night, at('2026-03-02T22:30'), at('2026-03-02T23:30')), true);
  assert.equal(isAllInPause(night, at('2026-03-02T21:30'), at('2026-03-02T22:30')), false);
  assert.equal(isAllInPause(night, at('2026-03-03T05:30'), at('2026-03-03T06:30')), false);
});

test('cyclic schedules are open between their hours, over midnight too, by the date on which they begin', () => {
  const night = schedule({
    EsCiclico: 1,
    HoraInicio: '22:00',
    HoraFin: '02:00',
    TipoProgramacion: 'Semanal',
    DiasSemana: 'Lu',
  });
  const dateAt = (text: string) => cyclicWindowAt(night, at(text), zone)?.date ?? null;
  assert.equal(dateAt('2026-03-02T21:59'), null);
  assert.equal(dateAt('2026-03-02T22:00'), '2026-03-02');
  assert.equal(dateAt('2026-03-03T01:59'), '2026-03-02');
  assert.equal(dateAt('2026-03-03T02:01'), null);
  assert.equal(dateAt('2026-03-03T23:00'), null);
  const open = schedule({ EsCiclico: 1, HoraInicio: '08:00' });
  assert.equal(cyclicWindowAt(open, at('2026-03-02T07:00'), zone), null);
  assert.notEqual(cyclicWindowAt(open, at('2026-03-02T23:59'), zone), null);
});

test('schedules on one device overlap where their windows can meet, over midnight too', () => {
  const nine = schedule();
  assert.equal(overlaps(nine, schedule({ HoraInicio: '09:30' })), true);
  assert.equal(overlaps(nine, schedule({ HoraInicio: '10:00' })), false);
  const late = schedule({ HoraInicio: '23:30' });
  assert.equal(overlaps(late, schedule({ HoraInicio: '00:10' })), true);
  const monday = schedule({ TipoProgramacion: 'Semanal', DiasSemana: 'Lu' });
  const tuesday = schedule({ TipoProgramacion: 'Semanal', DiasSemana: 'Ma' });
  assert.equal(overlaps(monday, tuesday), false);
  assert.equal(overlaps(monday, nine), true);
});
