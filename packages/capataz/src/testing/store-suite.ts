import { describe } from 'node:test';
import {
  causeTests,
  eventTests,
  historyTests,
  payloadTests,
  readTests,
  restartTests,
} from './store-suite-books.ts';
import { changeTests, creationTests, limitTests, taskStepTests } from './store-suite-changes.ts';
import { type OpenStore, storeTest } from './store-suite-kit.ts';
import {
  claimSizeTests,
  claimTests,
  laneTests,
  orderTests,
  queueTests,
} from './store-suite-queue.ts';
import { deadlineTests, leaseTests, taskDeadlineTests, workerTests } from './store-suite-time.ts';

const parts = {
  changes: [creationTests, changeTests, taskStepTests, limitTests],
  queue: [queueTests, orderTests, claimTests, claimSizeTests, laneTests],
  time: [deadlineTests, taskDeadlineTests, leaseTests, workerTests],
  reads: [historyTests, eventTests, readTests, causeTests, payloadTests, restartTests],
};

/** The conformance suite: what every store must do, in the same words. `open` gives an empty one. */
export function storeSuite(name: string, open: OpenStore): void {
  const test = storeTest(open);
  describe(`store ${name}`, () => {
    for (const [part, tests] of Object.entries(parts)) {
      describe(part, () => {
        for (const define of tests) define(test);
      });
    }
  });
}
