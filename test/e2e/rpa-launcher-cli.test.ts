/** The commands of the launcher, typed while it runs. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../packages/capataz/src/testing/until.ts';
import { RpaSite } from './rpa-launcher-site.ts';

test('S-94, L-70: what operators ask and order by command', { timeout: 240_000 }, async () => {
  await using site = await RpaSite.open({
    robots: 2,
    variables: { LANZADOR_HABILITAR_SYNC: 'True', LANZADOR_INTERVALO_LANZAMIENTO_SEG: '2' },
  });
  const robot = site.fake.estate.robots.get(9_001);
  if (robot !== undefined)
    site.fake.estate.robots.set(9_001, { ...robot, script: { durationMs: null } });
  await site.start();
  const typed = (...args: string[]) => site.typed(args);
  await until(async () => JSON.parse(await typed('devices', '--json')).length === 2);
  assert.match(await typed('robots', '9002', '--priority', '7'), /P002_Robot +1 +0 +7/);
  assert.match(
    await typed(
      'schedule',
      'add',
      '--robot',
      'P002_Robot',
      '--devices',
      'RPA-PC-002',
      '--at',
      '00:00',
      '--days',
      'Lu',
      '--json',
    ),
    /"ProgramacionId": 1/,
  );
  assert.match(await typed('schedule', 'list'), /P002_Robot +RPA-PC-002 +Semanal +00:00/);
  writeFileSync(
    join(site.folder, 'plan.csv'),
    'Robot,Equipos,HoraInicio\nP002_Robot,RPA-PC-002,00:30\n',
  );
  await assert.rejects(
    site.typed(['schedule', 'import', 'plan.csv']),
    /plan\.csv line 2: its window overlaps/,
  );
  assert.match(await typed('schedule', 'export'), /^Robot,Equipos,/);
  await typed('assign', 'P001_Robot', 'RPA-PC-001');
  const jobId = (await typed('run-now', 'P001_Robot', 'rpa-pc-001')).trim();
  await until(() => site.fake.runs.length === 1);
  assert.match(await typed('executables'), /P001_Robot.*the robot is not online/);
  assert.match(await typed('executions'), new RegExp(`${jobId} +P001_Robot`));
  assert.match(await typed('status'), /equipos +2, activos 2, conectados 2/);
  await typed('stop', 'RPA-PC-001');
  await until(() => site.fake.runs[0]?.status === 'RUN_ABORTED');
  const told = await typed('diagnose');
  for (const question of ['not deployed', 'not updated', '412', 'assignments are gone'])
    assert.match(told, new RegExp(question));
  assert.match(await typed('variables'), /AA_CR_API_KEY +\*{8}/);
  assert.match(await typed('why', jobId), /./);
});
