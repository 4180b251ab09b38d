import { parseArgs } from 'node:util';
import type { Figure } from './figures.ts';
import { idleLatency } from './idle-latency.ts';
import { limits } from './limits.ts';
import { recovery } from './recovery.ts';
import { oneStep, threeStep } from './throughput.ts';

/** `npm run bench -- [--json] [--workload W]… [--store sqlite]` */
const workloads: Readonly<Record<string, () => Promise<Figure[]>>> = {
  limits,
  'one-step': () => oneStep(),
  'three-step': () => threeStep(),
  'idle-latency': () => idleLatency(),
  backlog: () => oneStep({ backlog: 100_000 }),
  recovery,
};

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    workload: { type: 'string', multiple: true, default: Object.keys(workloads) },
    store: { type: 'string', default: 'sqlite' },
  },
});

const { store } = values;
if (store !== 'sqlite') throw new Error(`there is no store "${store}" to measure; there is sqlite`);
for (const name of values.workload) {
  const run = workloads[name];
  if (run === undefined) {
    throw new Error(
      `there is no workload "${name}"; there are ${Object.keys(workloads).join(', ')}`,
    );
  }
  for (const { workload, params, value, unit } of await run()) {
    const rounded = Number(value.toPrecision(4));
    console.log(
      values.json
        ? JSON.stringify({ workload, store, params, value: rounded, unit })
        : `${workload.padEnd(14)} ${String(rounded).padStart(10)} ${unit.padEnd(12)} ${Object.entries(
            params,
          )
            .map(([key, text]) => `${key} ${text}`)
            .join(', ')}`,
    );
  }
}
