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

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const args = [...process.execArgv, '--conditions=capataz-source', main, ...process.argv.slice(2)];

// The process image is replaced, so that signals and the exit code need no forwarding.
if (typeof process.execve === 'function' && process.platform !== 'win32') {
  process.execve(process.execPath, [process.execPath, ...args], process.env);
}
process.exit(spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1);
