// The launcher behind every npm script: `node scripts/run.mjs <command> [arguments]`.
// TypeScript files can't be loaded by an old Node, so the version is checked here, before the first.
import './require-node.mjs';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const sourceCondition = '--conditions=capataz-source';
const commands = {
  check: 'scripts/check.ts',
  format: 'scripts/format.ts',
  test: 'scripts/test.ts',
  build: 'scripts/build.ts',
  reference: 'scripts/reference.ts',
  demo: 'examples/digest/demo.ts',
  'demo:coding-tasks': 'apps/coding-tasks/demo/main.ts',
  'demo:rpa-launcher': 'apps/rpa-launcher/demo/main.ts',
  'kills:rpa-launcher': 'test/e2e/rpa-launcher-kills.ts',
  'memory:rpa-launcher': 'test/e2e/rpa-launcher-memory.ts',
  'demo:llm-jobs': 'apps/llm-jobs/demo/main.ts',
  'example:approval': 'examples/approval/demo.ts',
  'example:nightly': 'examples/nightly/demo.ts',
  bench: 'bench/main.ts',
  chaos: 'test/chaos/command.ts',
  'kills:coding-tasks': 'test/kills/main.ts',
  sim: 'packages/capataz/src/testing/sim-command.ts',
  'sim:mutants': 'packages/capataz/src/testing/mutants-command.ts',
};

const [name, ...args] = process.argv.slice(2);
const path = Object.hasOwn(commands, name ?? '') ? commands[name] : undefined;

if (path === undefined) {
  console.error(`usage: npm run <${Object.keys(commands).join('|')}> [-- arguments]`);
  process.exit(1);
}

const entry = fileURLToPath(new URL(`../${path}`, import.meta.url));

if (!existsSync(entry)) {
  console.error(`\`${name}\` has no program yet: ${path} does not exist.`);
  process.exit(1);
}

const hasCondition = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((text) =>
  text.includes(sourceCondition),
);
const nodeArgs = hasCondition ? process.execArgv : [...process.execArgv, sourceCondition];

// As in bin/capataz.mjs: the process image is replaced, so that signals and the exit code need no
// forwarding and the entry sees itself as the main module.
if (typeof process.execve === 'function' && process.platform !== 'win32') {
  process.execve(process.execPath, [process.execPath, ...nodeArgs, entry, ...args], process.env);
}
const result = spawnSync(process.execPath, [...nodeArgs, entry, ...args], { stdio: 'inherit' });
process.exit(result.status ?? 1);
