import { globSync } from 'node:fs';
import { biome, repositoryRoot, runSteps, typescript } from './steps.ts';

const codeRules = globSync('test/tidy/*.test.ts', { cwd: repositoryRoot }).sort();

const passed = runSteps([
  { name: 'format', nodeArgs: [biome, 'format'] },
  {
    name: 'lint and import order',
    nodeArgs: [
      biome,
      'check',
      '--formatter-enabled=false',
      '--error-on-warnings',
      '--max-diagnostics=100',
    ],
  },
  { name: 'types', nodeArgs: [typescript, '--project', 'tsconfig.json'] },
  {
    name: 'code rules',
    nodeArgs: ['--test', '--test-reporter=dot', '--test-concurrency=2', ...codeRules],
  },
]);

process.exitCode = passed ? 0 : 1;
