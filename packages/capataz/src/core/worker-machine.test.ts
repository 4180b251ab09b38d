import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type WorkerStatus, workerMayBecome, workerStatuses } from './status.ts';
import {
  assignJob,
  cancelDrain,
  checkWorkerTransition,
  completeJob,
  drain,
  forceKill,
  holdJobs,
  type InvalidWorkerStateTransition,
  isOperationalWorker,
  isTerminalWorker,
  markConnecting,
  markLost,
  markReady,
  markTerminated,
  newWorker,
  signOff,
  statusHolding,
  terminate,
  type WorkerAggregate,
  type WorkerChange,
  type WorkerOutcome,
  workerCategory,
  workerStatusNumber,
  workerStatusOf,
} from './worker-machine.ts';

/** Written out as the pairs of section 2: a slip in the table of the code shows. */
const legal: readonly string[] = [
  'CREATING → CONNECTING',
  'CREATING → TERMINATED',
  'CONNECTING → READY',
  'CONNECTING → TERMINATED',
  'READY → BUSY',
  'READY → DRAINING',
  'READY → TERMINATING',
  'BUSY → READY',
  'BUSY → DRAINING',
  'BUSY → TERMINATED',
  'DRAINING → READY',
  'DRAINING → TERMINATING',
  'DRAINING → TERMINATED',
  'TERMINATING → TERMINATED',
];

const pairs = workerStatuses.flatMap((from) => workerStatuses.map((to) => [from, to] as const));

/** A worker in any status, with a job in hand unless it has just a free slot. */
function inStatus(status: WorkerStatus, fields: Partial<WorkerAggregate> = {}): WorkerAggregate {
  const currentJobs = status === 'READY' ? [] : ['job-1'];
  return { ...newWorker('w1', 1_000), status, currentJobs, ...fields };
}

function changed(outcome: WorkerOutcome): WorkerChange {
  assert.equal(outcome.type, 'changed', JSON.stringify(outcome));
  return outcome as WorkerChange;
}

function refused(outcome: WorkerOutcome): InvalidWorkerStateTransition {
  assert.equal(outcome.type, 'InvalidWorkerStateTransition', JSON.stringify(outcome));
  return outcome as InvalidWorkerStateTransition;
}

/** READY by the way that every worker takes. */
function ready(options: { ephemeral?: boolean; slots?: number } = {}): WorkerAggregate {
  const connecting = changed(markConnecting(newWorker('w1', 1_000, options), 2_000)).worker;
  return changed(markReady(connecting, 3_000)).worker;
}

function withJobs(worker: WorkerAggregate, ...jobs: readonly string[]): WorkerAggregate {
  return jobs.reduce((held, job) => changed(assignJob(held, 4_000, job)).worker, worker);
}

test('H-1 exactly the 14 of 49 transitions are accepted', () => {
  const accepted = pairs
    .filter(([from, to]) => checkWorkerTransition({ id: 'w1', status: from }, to, 'x') === null)
    .map(([from, to]) => `${from} → ${to}`);
  assert.equal(pairs.length, 49);
  assert.deepEqual(accepted, legal);
});

test('H-2 no status leads to itself', () => {
  for (const status of workerStatuses)
    refused(checkWorkerTransition({ id: 'w1', status }, status, 'x') as WorkerOutcome);
});

test('H-3 TERMINATED has no way out, and only it is terminal', () => {
  for (const to of workerStatuses) assert.equal(workerMayBecome('TERMINATED', to), false);
  assert.deepEqual(workerStatuses.filter(isTerminalWorker), ['TERMINATED']);
});

test('H-4 READY and BUSY are operational, nothing else is', () => {
  assert.deepEqual(workerStatuses.filter(isOperationalWorker), ['READY', 'BUSY']);
});

test('H-5 categories and integers are the seed’s', () => {
  assert.deepEqual(workerStatuses.map(workerCategory), [
    'provisioning',
    'provisioning',
    'available',
    'working',
    'shutting_down',
    'shutting_down',
    'terminated',
  ]);
  assert.deepEqual(workerStatuses.map(workerStatusNumber), [0, 1, 2, 3, 4, 5, 6]);
  assert.deepEqual([0, 1, 2, 3, 4, 5, 6].map(workerStatusOf), workerStatuses);
  assert.deepEqual([workerStatusOf(7), workerStatusOf(-1)], [undefined, undefined]);
});

type Operation = readonly [
  name: string,
  to: WorkerStatus,
  run: (worker: WorkerAggregate, now: number) => WorkerOutcome,
];

/** Those of one step: what each does to a status is what the matrix says of its target. */
const operations: readonly Operation[] = [
  ['mark_connecting', 'CONNECTING', markConnecting],
  ['mark_ready', 'READY', markReady],
  ['assign_job', 'BUSY', (worker, now) => assignJob(worker, now, 'job-2')],
  ['complete_job', 'TERMINATED', completeJob],
  ['drain', 'DRAINING', drain],
  ['terminate', 'TERMINATING', terminate],
  ['mark_terminated', 'TERMINATED', markTerminated],
];

for (const [name, to, run] of operations) {
  test(`H-6 H-7 H-8 ${name} in each status does what the matrix says`, () => {
    for (const from of workerStatuses) {
      // complete_job needs a job, which a READY worker has not.
      const before = Object.freeze(inStatus(from));
      const copy = structuredClone(before);
      const outcome = run(before, 9_000);
      assert.deepEqual(before, copy, 'an operation never touches what it was given');
      if (!legal.includes(`${from} → ${to}`)) {
        const { reason, ...refusal } = refused(outcome);
        assert.deepEqual(refusal, {
          type: 'InvalidWorkerStateTransition',
          worker_id: 'w1',
          from_state: from,
          to_state: to,
        });
        assert.ok(reason.length > 0);
        continue;
      }
      const { worker, previous, steps } = changed(outcome);
      assert.deepEqual([worker.status, worker.updatedAt, previous, steps], [to, 9_000, from, [to]]);
    }
  });
}

test('H-7 a refusal carries the reason of the operation', () => {
  const reasons = operations.map(([, , run]) => refused(run(inStatus('TERMINATED'), 9_000)).reason);
  assert.deepEqual(reasons, [
    'agent starts its gRPC connection',
    'agent registered',
    'job assigned',
    'job done, ephemeral worker ends',
    'graceful stop',
    'direct stop',
    'worker ended',
  ]);
});

test('H-9 mark_ready is a sign of life', () => {
  const connecting = changed(markConnecting(newWorker('w1', 1_000), 2_000)).worker;
  assert.equal(connecting.lastHeartbeatAt, null);
  const { worker } = changed(markReady(connecting, 3_000));
  assert.deepEqual([worker.lastHeartbeatAt, worker.updatedAt], [3_000, 3_000]);
});

test('H-9 who registers anew with jobs in hand has them released, so that READY means a free slot', () => {
  const { worker, released } = changed(markReady(withJobs(ready(), 'job-1'), 9_000));
  assert.deepEqual([worker.currentJobs, released], [[], ['job-1']]);
});

test('H-10 assign_job keeps the job’s id; a second one is refused and changes nothing', () => {
  const busy = withJobs(ready(), 'job-1');
  assert.deepEqual([busy.status, busy.currentJobs, busy.updatedAt], ['BUSY', ['job-1'], 4_000]);
  const refusal = refused(assignJob(busy, 5_000, 'job-2'));
  assert.deepEqual([refusal.from_state, refusal.to_state], ['BUSY', 'BUSY']);
  assert.deepEqual([busy.currentJobs, busy.updatedAt], [['job-1'], 4_000]);
});

test('H-11 complete_job ends the worker, clears the job, counts it and notes the time', () => {
  const { worker, previous, released } = changed(completeJob(withJobs(ready(), 'job-1'), 8_000));
  assert.deepEqual(
    [worker.status, worker.currentJobs, worker.jobsExecuted, worker.jobCompletedAt],
    ['TERMINATED', [], 1, 8_000],
  );
  assert.deepEqual([worker.updatedAt, previous, released], [8_000, 'BUSY', []]);
});

test('H-11 without the job there is nothing to complete, whatever the table allows', () => {
  const creating = newWorker('w1', 1_000);
  assert.match(refused(completeJob(creating, 9_000)).reason, /holds no such job/);
  const busy = withJobs(ready(), 'job-1');
  assert.match(refused(completeJob(busy, 9_000, 'job-2')).reason, /holds no such job/);
});

test('H-12 happy path', () => {
  const created = newWorker('w1', 1_000);
  const done = changed(completeJob(withJobs(ready(), 'job-1'), 8_000)).worker;
  assert.deepEqual(
    [created.status, created.ephemeral, done.status],
    ['CREATING', true, 'TERMINATED'],
  );
});

test('H-12 no way back', () => {
  for (const [from, to] of [
    ['CONNECTING', 'CREATING'],
    ['READY', 'CONNECTING'],
    ['BUSY', 'CONNECTING'],
    ['DRAINING', 'BUSY'],
    ['TERMINATING', 'DRAINING'],
    ['TERMINATING', 'READY'],
  ] as const)
    assert.equal(workerMayBecome(from, to), false, `${from} → ${to}`);
});

test('H-12 no skipping', () => {
  refused(markReady(newWorker('w1', 1_000), 9_000));
  refused(assignJob(newWorker('w1', 1_000), 9_000, 'job-1'));
  const connecting = changed(markConnecting(newWorker('w1', 1_000), 2_000)).worker;
  refused(assignJob(connecting, 9_000, 'job-1'));
  refused(drain(connecting, 9_000));
});

test('H-12 nothing happens to a terminated worker', () => {
  const all = [...operations.map(([, , run]) => run), cancelDrain, forceKill, markLost];
  for (const run of all) refused(run(inStatus('TERMINATED', { currentJobs: [] }), 9_000));
});

test('H-ff a long-lived worker is READY after its job, a draining one goes on to its end', () => {
  const busy = withJobs(ready({ ephemeral: false }), 'job-1');
  const done = changed(completeJob(busy, 8_000)).worker;
  assert.deepEqual(
    [done.status, done.currentJobs, done.jobsExecuted, done.jobCompletedAt],
    ['READY', [], 1, 8_000],
  );
  const draining = changed(drain(busy, 7_000)).worker;
  assert.deepEqual(draining.currentJobs, ['job-1']);
  assert.equal(changed(completeJob(draining, 8_000)).worker.status, 'TERMINATING');
  assert.equal(changed(completeJob(inStatus('DRAINING'), 8_000)).worker.status, 'TERMINATED');
});

test('H-ff a drain can be called off; with its slot taken the worker is BUSY again, by two steps', () => {
  const idle = changed(drain(ready({ ephemeral: false }), 7_000)).worker;
  assert.deepEqual(changed(cancelDrain(idle, 8_000)).steps, ['READY']);
  const busy = changed(drain(withJobs(ready({ ephemeral: false }), 'job-1'), 7_000)).worker;
  const back = changed(cancelDrain(busy, 8_000));
  assert.deepEqual([back.steps, back.worker.currentJobs], [['READY', 'BUSY'], ['job-1']]);
  assert.match(refused(cancelDrain(back.worker, 9_000)).reason, /does not drain/);
});

test('H-gg a kill goes by legal steps from every status', () => {
  const steps = workerStatuses.map((status) => {
    const outcome = forceKill(inStatus(status), 9_000);
    return outcome.type === 'changed' ? outcome.steps : 'refused';
  });
  assert.deepEqual(steps, [
    ['TERMINATED'],
    ['TERMINATED'],
    ['TERMINATING'],
    ['DRAINING', 'TERMINATING'],
    ['TERMINATING'],
    'refused',
    'refused',
  ]);
});

test('H-hh a lost READY worker ends by two recorded steps, every other one by one', () => {
  for (const status of workerStatuses.filter((each) => !isTerminalWorker(each))) {
    const { worker, steps, released } = changed(markLost(inStatus(status), 9_000));
    const expected = status === 'READY' ? ['TERMINATING', 'TERMINATED'] : ['TERMINATED'];
    assert.deepEqual([worker.status, steps], ['TERMINATED', expected]);
    assert.deepEqual([worker.currentJobs, released.length], [[], status === 'READY' ? 0 : 1]);
  }
});

test('S-38 with several slots it is READY while one is free and BUSY when none is', () => {
  const worker = ready({ ephemeral: false, slots: 2 });
  const first = changed(assignJob(worker, 4_000, 'job-1'));
  assert.deepEqual([first.worker.status, first.steps, first.previous], ['READY', [], 'READY']);
  assert.match(refused(assignJob(first.worker, 5_000, 'job-1')).reason, /already/);
  const second = changed(assignJob(first.worker, 5_000, 'job-2'));
  assert.deepEqual([second.worker.status, second.steps], ['BUSY', ['BUSY']]);
  refused(assignJob(second.worker, 6_000, 'job-3'));
  const freed = changed(completeJob(second.worker, 7_000, 'job-2'));
  assert.deepEqual([freed.worker.currentJobs, freed.steps], [['job-1'], ['READY']]);
  const idle = changed(completeJob(freed.worker, 8_000));
  assert.deepEqual([idle.worker.status, idle.steps, idle.worker.jobsExecuted], ['READY', [], 2]);
});

test('S-38 a drain with several jobs ends with the last one', () => {
  const busy = withJobs(ready({ ephemeral: false, slots: 2 }), 'job-1', 'job-2');
  const draining = changed(drain(busy, 5_000)).worker;
  refused(assignJob(draining, 5_000, 'job-3'));
  const first = changed(completeJob(draining, 6_000));
  assert.deepEqual([first.worker.status, first.steps], ['DRAINING', []]);
  assert.deepEqual(changed(completeJob(first.worker, 7_000)).steps, ['TERMINATING']);
});

test('S-38 who is told what it holds is where assigning and ending one by one leads', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 3 }),
      fc.array(fc.constantFrom('assign', 'complete', 'drain', 'cancel'), { maxLength: 30 }),
      (slots, sequence) => {
        let single = ready({ ephemeral: false, slots });
        let told = single;
        for (const [index, word] of sequence.entries()) {
          const operation = {
            assign: (worker: WorkerAggregate) => assignJob(worker, 9_000, `job-${index}`),
            complete: (worker: WorkerAggregate) => completeJob(worker, 9_000),
            drain: (worker: WorkerAggregate) => drain(worker, 9_000),
            cancel: (worker: WorkerAggregate) => cancelDrain(worker, 9_000),
          }[word];
          const outcome = operation(single);
          if (outcome.type !== 'changed') continue;
          single = outcome.worker;
          const isLoad = word === 'assign' || word === 'complete';
          const load = single.currentJobs.length;
          if (isLoad) assert.equal(statusHolding(told, load), single.status);
          const other = isLoad ? holdJobs(told, 9_000, single.currentJobs) : operation(told);
          told = changed(other).worker;
          assert.deepEqual([told.status, told.currentJobs], [single.status, single.currentJobs]);
        }
      },
    ),
  );
});

test('S-38 more jobs than slots may lie with a long-lived worker; it is BUSY until one slot is free', () => {
  const full = changed(holdJobs(ready({ ephemeral: false, slots: 2 }), 5_000, ['a', 'b', 'c']));
  assert.deepEqual([full.steps, full.worker.currentJobs], [['BUSY'], ['a', 'b', 'c']]);
  assert.deepEqual(changed(holdJobs(full.worker, 6_000, ['b', 'c'])).steps, []);
  assert.deepEqual(changed(holdJobs(full.worker, 6_000, ['c'])).steps, ['READY']);
  refused(holdJobs(newWorker('w1', 1_000), 9_000, ['a']));
  refused(holdJobs(inStatus('TERMINATED'), 9_000, ['a']));
});

test('H-hh who signs off ends by recorded steps, and only with empty hands', () => {
  const idle = changed(signOff(ready({ ephemeral: false }), 9_000));
  assert.deepEqual(idle.steps, ['TERMINATING', 'TERMINATED']);
  const ending = inStatus('TERMINATING', { currentJobs: [] });
  assert.deepEqual(changed(signOff(ending, 9_000)).steps, ['TERMINATED']);
  assert.match(refused(signOff(inStatus('DRAINING'), 9_000)).reason, /still holds/);
});

test('S-38 a worker that ends with its first job has one slot', () => {
  assert.throws(() => newWorker('w1', 0, { slots: 2 }), /one slot/);
  assert.throws(() => newWorker('w1', 0, { ephemeral: false, slots: 0 }), /at least one/);
});

const anyOperation = fc.constantFrom(
  markConnecting,
  markReady,
  (worker: WorkerAggregate, now: number) => assignJob(worker, now, `job-${now}`),
  (worker: WorkerAggregate, now: number) => completeJob(worker, now),
  drain,
  cancelDrain,
  terminate,
  markTerminated,
  forceKill,
  markLost,
);

test('H-1 H-6 H-10 any sequence of operations takes only legal steps and loses no job', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 3 }),
      fc.array(anyOperation, { minLength: 10, maxLength: 40, size: 'max' }),
      (slots, sequence) => {
        let worker = newWorker('w1', 0, { ephemeral: slots === 1, slots });
        let released = 0;
        let assigned = 0;
        sequence.forEach((operation, index) => {
          const outcome = operation(worker, index + 1);
          if (outcome.type !== 'changed') return;
          outcome.steps.reduce((from, to) => {
            assert.ok(legal.includes(`${from} → ${to}`), `${from} → ${to}`);
            return to;
          }, worker.status);
          assigned += outcome.worker.currentJobs.filter((job) => job === `job-${index + 1}`).length;
          released += outcome.released.length;
          worker = outcome.worker;
          assert.equal(assigned, worker.jobsExecuted + released + worker.currentJobs.length);
          if (worker.status === 'READY') assert.ok(worker.currentJobs.length < slots);
          if (worker.status === 'BUSY') assert.equal(worker.currentJobs.length, slots);
        });
      },
    ),
  );
});
