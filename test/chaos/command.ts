import { parseArgs } from 'node:util';
import { chaos } from './run.ts';

/** `npm run chaos -- [--seconds 60] [--runs 1] [--seed 1]` */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    runs: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
  },
});
let failed = 0;
for (let run = 0; run < Number(values.runs); run += 1) {
  const seed = Number(values.seed) + run;
  const { jobs, kills, problems } = await chaos({ seed, seconds: Number(values.seconds) });
  console.log(`run ${seed}: ${jobs} jobs, ${kills} kills, ${problems.length} problems`);
  for (const problem of problems.slice(0, 20)) console.error(`  ${problem}`);
  if (problems.length > 0) failed += 1;
}
console.log(`${Number(values.runs) - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
