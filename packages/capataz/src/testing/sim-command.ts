import { parseArgs } from 'node:util';
import { systemClock } from '../std/clock.ts';
import { durationMs } from '../std/duration.ts';
import { type FaultName, faultNames } from './sim/faults.ts';
import { type Cuts, cutFlags } from './sim/plan.ts';
import { type SimResult, simulate } from './sim/scenario.ts';
import { shrink } from './sim/shrink.ts';

const usage = `npm run sim -- [--seeds N | --minutes M] [--first S]      look for a seed that breaks a rule
npm run sim -- --seed S [--trace]                            replay one seed
      [--until-failure]                                       stop at the first, don't shrink it
      [--jobs N] [--workers N] [--instances N] [--storm 20s] [--without F]…   with less of it
faults: ${faultNames.join(', ')}`;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '50' },
    minutes: { type: 'string' },
    first: { type: 'string', default: '1' },
    seed: { type: 'string' },
    trace: { type: 'boolean', default: false },
    jobs: { type: 'string' },
    workers: { type: 'string' },
    instances: { type: 'string' },
    storm: { type: 'string' },
    without: { type: 'string', multiple: true, default: [] },
    'until-failure': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) console.log(usage);
else process.exitCode = (await run()) === 0 ? 0 : 1;

/** @returns how many seeds broke a rule. */
async function run(): Promise<number> {
  const cuts = givenCuts();
  const until =
    values.minutes === undefined ? null : systemClock.steady() + number('minutes') * 60_000;
  const first = values.seed === undefined ? number('first') : number('seed');
  const count = values.seed === undefined ? number('seeds') : 1;
  let passed = 0;
  let failed = 0;
  for (
    let seed = first;
    until === null ? seed < first + count : systemClock.steady() < until;
    seed += 1
  ) {
    const result = await simulate(seed, { cuts });
    if (values.trace) console.log(result.trace.join('\n'));
    if (result.violations.length === 0) {
      passed += 1;
      console.log(line(result));
    } else {
      failed += 1;
      await tell(result, cuts);
      if (values['until-failure']) break;
    }
  }
  console.log(`${passed} passed, ${failed} failed`);
  return failed;
}

function line({ seed, jobs, ends, simulatedMs }: SimResult): string {
  return `seed ${seed}: ${jobs.length} jobs, ${JSON.stringify(ends)}, ${Math.round(simulatedMs / 1_000)} s simulated`;
}

async function tell(result: SimResult, cuts: Cuts): Promise<void> {
  const { seed } = result;
  console.error(
    `seed ${seed} breaks a rule; replay it with: npm run sim -- --seed ${seed} ${cutFlags(cuts)} --trace`,
  );
  for (const violation of result.violations.slice(0, 10)) console.error(`  ${violation}`);
  if (values['until-failure']) return;
  const shrunk = await shrink(seed, result, cuts);
  console.error(`smaller: npm run sim -- --seed ${seed} ${cutFlags(shrunk.cuts)} --trace`);
  for (const violation of shrunk.result.violations.slice(0, 3)) console.error(`  ${violation}`);
}

function givenCuts(): Cuts {
  const unknown = values.without.find((name) => !isFault(name));
  if (unknown !== undefined) throw new Error(`there is no fault "${unknown}"; ${usage}`);
  return {
    ...(values.jobs === undefined ? {} : { jobs: number('jobs') }),
    ...(values.workers === undefined ? {} : { workers: number('workers') }),
    ...(values.instances === undefined ? {} : { instances: number('instances') }),
    ...(values.storm === undefined ? {} : { stormMs: durationMs(values.storm) }),
    ...(values.without.length === 0 ? {} : { without: values.without.filter(isFault) }),
  };
}

function isFault(name: string): name is FaultName {
  return (faultNames as readonly string[]).includes(name);
}

function number(
  name: 'seeds' | 'minutes' | 'first' | 'seed' | 'jobs' | 'workers' | 'instances',
): number {
  const value = Number(values[name]);
  if (Number.isFinite(value) && value >= 0) return value;
  throw new Error(`--${name} must be a number, not "${values[name]}"`);
}
