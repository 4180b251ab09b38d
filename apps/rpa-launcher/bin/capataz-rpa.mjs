#!/usr/bin/env node
// As the library's own bin: in a checkout, the sources of `capataz` are reached by a condition.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const neededMajor = 24;
if (Number(process.versions.node.split('.')[0]) < neededMajor) {
  console.error(
    `capataz-rpa needs Node ${neededMajor} or newer, but this is Node ${process.versions.node} (${process.execPath}); in a checkout, \`npx capataz-rpa\` runs with the Node that it brings.`,
  );
  process.exit(1);
}

// The launcher mostly waits: it gives speed for memory. Without these it has more than twice as much
// (docs/rpa-launcher.md, "Memory and processor"). What its caller says comes behind, and holds.
const sparing = [
  '--max-old-space-size=128',
  '--max-semi-space-size=1',
  '--optimize-for-size',
  '--v8-pool-size=1',
];
// Of the C library, where it is glibc: what is free goes back to the system.
const environment = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072', ...process.env };
const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const options = [...sparing, ...process.execArgv, '--conditions=capataz-source'];
const args = [...options, main, ...process.argv.slice(2)];

// The process image is replaced, so that signals and the exit code need no forwarding.
if (typeof process.execve === 'function' && process.platform !== 'win32') {
  process.execve(process.execPath, [process.execPath, ...args], environment);
}
const { status } = spawnSync(process.execPath, args, { stdio: 'inherit', env: environment });
process.exit(status ?? 1);
