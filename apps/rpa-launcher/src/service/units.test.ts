/** What keeps the launcher running where it is installed. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const fileOf = (name: string) => fileURLToPath(new URL(`../../deploy/${name}`, import.meta.url));
const unit = readFileSync(fileOf('capataz-rpa.service'), 'utf8');
const script = readFileSync(fileOf('install-service.ps1'), 'utf8');

test('L-70: `systemd-analyze verify` has nothing to say about the unit', () => {
  const { error, status, stdout, stderr } = spawnSync(
    'systemd-analyze',
    [...['verify', '--man=no', fileOf('capataz-rpa.service')]],
    { encoding: 'utf8' },
  );
  assert.equal(
    error,
    undefined,
    'this test needs systemd-analyze (Debian: apt-get install systemd)',
  );
  assert.deepEqual([status, stdout, stderr], [0, '', '']);
});

test('L-70: both services start again after every end, and wait for longer than the launcher’s own time-out', () => {
  assert.match(unit, /^Restart=always$/m);
  assert.match(unit, /^RestartSec=5s$/m);
  assert.match(unit, /^KillSignal=SIGTERM$/m);
  assert.match(script, /AppExit Default Restart/);
  assert.match(script, /AppRestartDelay 5000/);
  assert.ok(Number(/^TimeoutStopSec=(\d+)s$/m.exec(unit)?.[1]) > 60);
  assert.ok(Number(/\$StopSeconds = (\d+)/.exec(script)?.[1]) > 60);
});

test('L-70: both services start the launcher’s own program', () => {
  assert.match(script, /'\.\.\\src\\main\.ts'/);
  assert.match(script, /--conditions=capataz-source `"\$program`" serve/);
  assert.match(
    unit,
    /^ExecStart=\/usr\/bin\/env node .*\/bin\/capataz-rpa\.mjs serve --data-dir \S+$/m,
  );
});

test('L-69: both services start the launcher with what keeps it below 200 MB', () => {
  const program = readFileSync(fileOf('../bin/capataz-rpa.mjs'), 'utf8');
  const sparing =
    program.match(/^ {2}'(--[a-z0-9=-]+)',$/gm)?.map((line) => line.slice(3, -2)) ?? [];
  assert.ok(sparing.length > 0);
  assert.ok(script.includes(`AppParameters "${sparing.join(' ')} --conditions`));
  assert.match(unit, /^Environment=NODE_COMPILE_CACHE=\/var\/cache\/capataz-rpa$/m);
  assert.ok(script.includes('NODE_COMPILE_CACHE=$DataDirectory'));
});
