import { simulate } from './sim/scenario.ts';

/** `npm run sim -- [--seeds N] [--first S] [--seed S [--trace]]`: looks for a seed that breaks a rule. */
const { values } = (await import('node:util')).parseArgs({
  options: {
    seeds: { type: 'string', default: '50' },
    first: { type: 'string', default: '1' },
    seed: { type: 'string' },
    trace: { type: 'boolean', default: false },
  },
});

const first = Number(values.seed ?? values.first);
const count = values.seed === undefined ? Number(values.seeds) : 1;
let failures = 0;
for (let seed = first; seed < first + count; seed += 1) {
  const result = await simulate(seed);
  if (values.trace) console.log(result.trace.join('\n'));
  if (result.violations.length === 0) {
    console.log(
      `seed ${seed}: ${result.jobs} jobs, ${JSON.stringify(result.ends)}, ${Math.round(result.simulatedMs / 1_000)} s simulated`,
    );
    continue;
  }
  failures += 1;
  console.error(
    `seed ${seed} breaks a rule; replay it with: npm run sim -- --seed ${seed} --trace`,
  );
  for (const violation of result.violations.slice(0, 10)) console.error(`  ${violation}`);
}
console.log(`${count - failures} passed, ${failures} failed`);
process.exitCode = failures === 0 ? 0 : 1;
