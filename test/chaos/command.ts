import { parseArgs } from 'node:util';
import { chaos } from './run.ts';
import { withPostgresStore } from './store.ts';

/** `npm run chaos -- [--seconds 60] [--runs 1] [--seed 1] [--store postgres]`: two servers on PostgreSQL */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    runs: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    store: { type: 'string', default: 'sqlite' },
  },
});
let failed = 0;
for (let run = 0; run < Number(values.runs); run += 1) {
  const seed = Number(values.seed) + run;
  const options = { seed, seconds: Number(values.seconds) };
  const { jobs, kills, problems } =
    values.store === 'postgres'
      ? await withPostgresStore((storeUrl) => chaos({ ...options, storeUrl }))
      : await chaos(options);
  console.log(`run ${seed}: ${jobs} jobs, ${kills} kills, ${problems.length} problems`);
  for (const problem of problems.slice(0, 20)) console.error(`  ${problem}`);
  if (problems.length > 0) failed += 1;
}
console.log(`${Number(values.runs) - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
