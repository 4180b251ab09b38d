import { biome, runSteps } from './steps.ts';

const paths = process.argv.slice(2);
// Formats and sorts imports; lint fixes that change code stay the author's decision.
const passed = runSteps([
  { name: 'format', nodeArgs: [biome, 'check', '--write', '--linter-enabled=false', ...paths] },
]);

process.exitCode = passed ? 0 : 1;
