import { parseArgs } from 'node:util';
import type { Figure } from './figures.ts';
import { idleLatency } from './idle-latency.ts';
import { limits } from './limits.ts';
import { recovery } from './recovery.ts';
import { scale } from './scale.ts';
import { type Setup, storeNames } from './setup.ts';
import { oneStep, threeStep } from './throughput.ts';

/** `npm run bench -- [--json] [--workload W]… [--store sqlite|postgres] [--instances N]` */
const workloads: Readonly<Record<string, (setup: Setup) => Promise<Figure[]>>> = {
  limits,
  'one-step': oneStep,
  'three-step': threeStep,
  'idle-latency': idleLatency,
  backlog: (setup) => oneStep(setup, { backlog: 100_000 }),
  recovery,
  scale,
};
/** It takes minutes. */
const onlyIfNamed = 'scale';

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    workload: {
      type: 'string',
      multiple: true,
      default: Object.keys(workloads).filter((name) => name !== onlyIfNamed),
    },
    instances: { type: 'string', default: '1' },
    store: { type: 'string', default: 'sqlite' },
  },
});

const store = storeNames.find((name) => name === values.store);
if (store === undefined)
  throw new Error(
    `there is no store "${values.store}" to measure; there are ${storeNames.join(', ')}`,
  );
const setup = { store, instances: Number(values.instances) };
for (const name of values.workload) {
  const run = workloads[name];
  if (run === undefined) {
    throw new Error(
      `there is no workload "${name}"; there are ${Object.keys(workloads).join(', ')}`,
    );
  }
  for (const { workload, params, value, unit } of await run(setup)) {
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
