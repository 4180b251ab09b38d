import { describe } from 'node:test';
import { bookTests, movedBookTests } from './store-suite-archive.ts';
import {
  causeTests,
  eventTests,
  historyTests,
  payloadTests,
  readTests,
  restartTests,
} from './store-suite-books.ts';
import { changeTests, creationTests, limitTests, taskStepTests } from './store-suite-changes.ts';
import {
  attributeTests,
  earlySignalTests,
  inboxTests,
  letterTests,
  seenTests,
} from './store-suite-inbox.ts';
import { type OpenStore, storeTest } from './store-suite-kit.ts';
import {
  deadLetterRoomTests,
  deadLetterTests,
  outboxTests,
  stuckTests,
} from './store-suite-outbox.ts';
import {
  claimSizeTests,
  claimTests,
  laneTests,
  orderTests,
  queueTests,
} from './store-suite-queue.ts';
import { forgetTests, forgottenKeyTests, forgottenTests } from './store-suite-retention.ts';
import { scheduleTests } from './store-suite-schedules.ts';
import { placeTests, shareTests, waiterTests } from './store-suite-shares.ts';
import {
  deadlineTests,
  forgottenWorkerTests,
  leaseTests,
  taskDeadlineTests,
  workerTests,
} from './store-suite-time.ts';
import {
  childTests,
  fanOutTests,
  joinTests,
  memoTests,
  waitDeadlineTests,
} from './store-suite-waits.ts';

const parts = {
  changes: [creationTests, changeTests, taskStepTests, limitTests],
  queue: [queueTests, orderTests, claimTests, claimSizeTests, laneTests],
  time: [deadlineTests, taskDeadlineTests, leaseTests, workerTests, forgottenWorkerTests],
  waits: [fanOutTests, joinTests, childTests, waitDeadlineTests, memoTests],
  inbox: [earlySignalTests, inboxTests, seenTests, letterTests, attributeTests],
  shares: [shareTests, waiterTests, placeTests],
  outbox: [outboxTests, deadLetterTests, deadLetterRoomTests, stuckTests],
  schedules: [scheduleTests],
  retention: [forgetTests, forgottenTests, forgottenKeyTests],
  books: [bookTests, movedBookTests],
  reads: [historyTests, eventTests, readTests, causeTests, payloadTests, restartTests],
};

/**
 * The conformance suite: what every store must do, in the same words. `open` gives an empty one.
 * `leftOut`: parts that something around a store does not have.
 */
export function storeSuite(
  name: string,
  open: OpenStore,
  leftOut: readonly (keyof typeof parts)[] = [],
): void {
  const test = storeTest(open);
  const names: readonly string[] = leftOut;
  describe(`store ${name}`, () => {
    for (const [part, tests] of Object.entries(parts)) {
      if (names.includes(part)) continue;
      describe(part, () => {
        for (const define of tests) define(test);
      });
    }
  });
}
