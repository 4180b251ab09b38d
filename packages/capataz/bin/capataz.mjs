#!/usr/bin/env node
// Plain JavaScript that old Nodes can parse, so that they get a sentence instead of a syntax error.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const neededMajor = 24;
const sourceCondition = 'capataz-source';

if (Number(process.versions.node.split('.')[0]) < neededMajor) {
  console.error(
    `capataz needs Node ${neededMajor} or newer, but this is Node ${process.versions.node} (${process.execPath}); install a newer Node and run the command again.`,
  );
  process.exit(1);
}

const sourceMain = new URL('../src/application/main.ts', import.meta.url);

if (!existsSync(sourceMain)) {
  // The published package ships no sources.
  await import('../dist/application/main.js');
} else if (import.meta.resolve('capataz').endsWith('/src/index.ts')) {
  await import(sourceMain.href);
} else {
  await restartWithSourceCondition();
}

/**
 * In a checkout, user modules that import 'capataz' must reach the same sources as the CLI itself,
 * which only the condition on Node's command line gives. The process image is replaced rather than
 * a child started: same process id, so signals arrive and nothing can be orphaned.
 */
async function restartWithSourceCondition() {
  const args = [
    ...process.execArgv,
    `--conditions=${sourceCondition}`,
    fileURLToPath(import.meta.url),
    ...process.argv.slice(2),
  ];
  if (typeof process.execve === 'function' && process.platform !== 'win32') {
    process.execve(process.execPath, [process.execPath, ...args], process.env);
  }
  const { spawn } = await import('node:child_process');
  const child = spawn(process.execPath, args, { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => child.kill(signal));
  }
  child.on('error', (error) => {
    console.error(`capataz could not start Node again: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code) => process.exit(code ?? 1));
}
