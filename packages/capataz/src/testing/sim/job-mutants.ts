import type { Mutant } from './mutant.ts';

/** Breaks on the way of a job. */
export const jobMutants: readonly Mutant[] = [
  {
    name: 'the store takes changes that were decided on an old version',
    edits: [
      {
        file: 'store/memory/changes.ts',
        find: 'if (isVersioned && before',
        replace: 'if (!isVersioned && before',
      },
    ],
  },
  {
    name: 'the store does not look at the status that was decided on',
    edits: [
      {
        file: 'store/memory/changes.ts',
        find: 'record.task.status !== step.from',
        replace: 'false',
      },
    ],
  },
  {
    name: 'a lost race counts as done',
    edits: [
      {
        file: 'engine/decider.ts',
        find: "} else if (result?.type === 'stale') {",
        replace:
          "} else if (result?.type === 'stale') {\n        answers[item.index] = { type: 'done', before, job: before, change };\n      } else if (result === null) {",
      },
    ],
  },
  {
    name: 'a client is answered before the commit',
    edits: [
      {
        file: 'engine/jobs.ts',
        find: 'await this.#parts.committer.commit({ changes }, wakes)',
        replace:
          "(this.#parts.committer.commit({ changes }, wakes).catch(() => undefined), { changes: changes.map(({ change: { job } }) => ({ type: 'done' as const, job, cancelled: [] })) })",
      },
    ],
  },
  {
    name: 'idempotency keys are forgotten',
    edits: [
      {
        file: 'store/memory/changes.ts',
        find: 'if (job.version === 0 && idempotency) {',
        replace: 'if (job.version === -1 && idempotency) {',
      },
    ],
  },
  {
    name: 'the end of a back-off is forgotten',
    edits: [
      {
        file: 'core/task-rules.ts',
        find: "case 'ready':\n      if (task.status !== 'PENDING') return 'nothing_due';",
        replace: "case 'ready':\n      if (task.id !== '') return 'nothing_due';",
      },
    ],
  },
  {
    name: 'the end of a sleep is forgotten',
    edits: [
      {
        file: 'core/decide.ts',
        find: "if (wait?.type !== 'timer') return 'nothing_due';",
        replace: "if (wait?.type === 'timer') return 'nothing_due';",
      },
    ],
  },
  {
    name: 'the timekeeper sleeps on after its first look',
    edits: [
      {
        file: 'engine/timekeeper.ts',
        find: 'this.wakeIn(this.#rangMeanwhile ? 0 : nextMs);',
        replace: 'this.#stopped = nextMs > 0;',
      },
    ],
  },
  {
    name: 'leases that ran out are not found',
    edits: [
      {
        file: 'store/memory/reads.ts',
        find: "[{ type: 'lease' as const,",
        replace: "[{ type: 'silence' as const, worker: 'nobody',",
      },
    ],
  },
  {
    name: 'lost runs are not counted',
    edits: [
      {
        file: 'core/task-rules.ts',
        find: '{ failures, lostRuns: runs },',
        replace: '{ failures, lostRuns },',
      },
    ],
  },
  {
    name: 'reported failures are not counted',
    edits: [
      {
        file: 'core/task-rules.ts',
        find: '{ failures: task.failures + 1, lostRuns: task.lostRuns },',
        replace: '{ failures: task.failures, lostRuns: task.lostRuns },',
      },
    ],
  },
  {
    name: 'a retry does not wait for its back-off',
    edits: [
      {
        file: 'core/task-rules.ts',
        find: 'timers: queueTimers(task.spec, delayMs, false),',
        replace: 'timers: queueTimers(task.spec, 0, false),',
      },
    ],
  },
  {
    name: 'a planned delay is ignored',
    edits: [
      {
        file: 'core/dispatch.ts',
        find: "step.task({ type: 'start', taskId, spec, timers: queueTimers(spec, delayMs, true) });",
        replace: "step.task({ type: 'start', taskId, spec, timers: queueTimers(spec, 0, true) });",
      },
    ],
  },
  {
    name: 'spent retries lead nowhere',
    edits: [
      {
        file: 'core/advance.ts',
        find: 'if (then === quarantine) return parkJob(step, error, resume);',
        replace: 'if (then === quarantine) return;',
      },
    ],
  },
  {
    name: 'tasks of held jobs are handed out',
    edits: [
      {
        file: 'store/memory/data.ts',
        find: 'return isQueued(task.status, deadlines, job.held);',
        replace: 'void job; return isQueued(task.status, deadlines, false);',
      },
    ],
  },
  {
    name: "a worker's data is dropped",
    edits: [
      {
        file: 'core/task-rules.ts',
        find: 'step.set({ data: together });',
        replace: '',
      },
    ],
  },
  {
    name: "a handler's data is dropped",
    edits: [
      {
        file: 'core/advance.ts',
        find: 'checkTarget(step, action.to);\n      step.set({ data });\n      return action.to;\n    case',
        replace: 'checkTarget(step, action.to);\n      return action.to;\n    case',
      },
    ],
  },
  {
    name: 'store time follows the wall clock',
    edits: [
      {
        file: 'store/store-time.ts',
        find: 'this.#start + this.#clock.steady() - this.#steadyStart',
        replace: 'this.#clock.now() + 0 * this.#steadyStart',
      },
    ],
  },
  {
    name: 'a living worker counts as silent',
    edits: [
      {
        file: 'core/worker.ts',
        find: 'return 3 * worker.heartbeatMs;',
        replace: 'return 0.5 * worker.heartbeatMs;',
      },
    ],
  },
  {
    name: 'the book skips a number',
    edits: [
      {
        file: 'store/memory/data.ts',
        find: 'seq: before + row.length + 1',
        replace: 'seq: before + row.length + 2',
      },
    ],
  },
  {
    name: 'an old attempt may report',
    edits: [
      {
        file: 'core/task-rules.ts',
        find: "if (task?.attempt?.id !== attempt || !isOpen(step, task)) return 'stale_task';\n  if (task.attempt.worker !== worker) return 'worker_mismatch';",
        replace: "if (!task?.attempt || !isOpen(step, task)) return 'stale_task';",
      },
      {
        file: 'engine/decider.ts',
        find: ': address.about.attempt === task.attempt?.id;',
        replace: ': task.attempt !== null;',
      },
    ],
  },
  {
    name: 'workers that registered at another instance are unknown',
    edits: [
      {
        file: 'engine/workers.ts',
        find: 'if (!this.#isShared) return undefined;',
        replace: 'if (this.#isShared) return undefined;',
      },
    ],
  },
  {
    name: 'heartbeats are no sign of life',
    edits: [
      {
        file: 'engine/presence.ts',
        find: 'this.#silentAt = this.#heardAt + silenceMs(this.record);',
        replace: '',
      },
      {
        file: 'store/memory/store.ts',
        find: 'lastSeenAt: unseen ? known.lastSeenAt : at,\n        silentAt: at + silentAfterMs',
        replace: 'lastSeenAt: known.lastSeenAt, silentAt: known.silentAt',
      },
    ],
  },
  {
    name: 'a fan-out is over with its first branch',
    edits: [
      {
        file: 'core/answers.ts',
        find: 'if (branches.length === wait.count) return',
        replace: 'if (branches.length > 0) return',
      },
      {
        file: 'store/memory/changes.ts',
        find: 'collected.length > 0 && tasks.size === 0',
        replace: 'collected.length > 0',
      },
    ],
  },
  {
    name: 'the last branch rings no alarm',
    edits: [
      { file: 'store/memory/changes.ts', find: 'if (isJoined) ring(after, at);', replace: '' },
      {
        file: 'core/limbo.ts',
        find: 'if (causes.tasks.length === 0) return',
        replace: 'if (causes.tasks.length < 0) return',
      },
    ],
  },
  {
    name: 'a decision may be about anything',
    edits: [
      {
        file: 'core/answers.ts',
        find: "if (!isAbout(wait, signal)) return 'decision_outdated';",
        replace: '',
      },
    ],
  },
  {
    name: 'the deadline of an approval is forgotten',
    edits: [
      {
        file: 'core/waits.ts',
        find: "...timer('deadline', deadline), ...timer('escalate', escalateAfter)",
        replace: "...timer('escalate', escalateAfter)",
      },
    ],
  },
  {
    name: 'a signal is taken as often as it comes',
    edits: [
      {
        file: 'store/memory/changes.ts',
        find: "if (also?.signalId != null && before?.seen.has(also.signalId)) return { type: 'seen' };",
        replace: '',
      },
      {
        file: 'engine/decider.ts',
        find: 'if (seen[position] && job !== null) {',
        replace: 'if (seen[position] === undefined && job !== null) {',
      },
    ],
  },
  {
    name: 'what came early is not looked at',
    edits: [
      {
        file: 'store/memory/changes.ts',
        find: 'if (also.looks && isEarlyThere) ring(after, at);',
        replace: 'if (also.looks && !isEarlyThere) ring(after, at);',
      },
    ],
  },
  {
    name: 'children outlive those that wait for them',
    edits: [
      {
        file: 'core/step.ts',
        find: "if (wait?.type !== 'child') return;\n    const item",
        replace: "if (wait?.type === 'child') return;\n    const item",
      },
    ],
  },
  {
    name: 'a child tells nobody of its end',
    edits: [
      {
        file: 'core/step.ts',
        find: 'if (parent === null) return;',
        replace: 'if (parent !== null) return;',
      },
    ],
  },
  {
    name: 'a key admits one more',
    edits: [
      {
        file: 'store/memory/shares.ts',
        find: 'if (sum > limit ||',
        replace: 'if (sum > limit + 1 ||',
      },
    ],
  },
  {
    name: 'places are never given back',
    edits: [
      {
        file: 'store/memory/shares.ts',
        find: 'return !isOver;',
        replace: 'return true;',
      },
    ],
  },
  {
    name: 'steps are not remembered',
    edits: [
      {
        file: 'store/memory/store.ts',
        find: 'owner.memos.set(name, copyOf(value));',
        replace: '',
      },
    ],
  },
  {
    name: 'a deadline that is set no more fires',
    edits: [
      {
        file: 'store/memory/changes.ts',
        find: "if (!isStillSet(before, also?.fired ?? null)) return { type: 'not_due' };",
        replace: '',
      },
    ],
  },
  {
    name: 'a letter that comes in during a look into the inbox is overlooked',
    edits: [
      {
        file: 'store/memory/inbox.ts',
        find: 'inbox: rungAt(owner.deadlines.inbox, at)',
        replace: 'inbox: owner.deadlines.inbox ?? at',
      },
    ],
  },
  {
    name: 'an attempt counts as stuck as soon as it is handed out',
    edits: [
      {
        file: 'store/memory/reads.ts',
        find: 'attempt.assignedAt <= at - olderThanMs',
        replace: 'attempt.assignedAt <= at',
      },
    ],
  },
  {
    name: 'an attempt at work is given up as stuck',
    edits: [
      {
        file: 'store/memory/reads.ts',
        find: 'attempt !== null && task.status === status &&',
        replace: "attempt !== null && status === 'ASSIGNED' &&",
      },
      {
        file: 'core/task-rules.ts',
        find: "if (status !== 'ASSIGNED' && status !== 'SCHEDULED') return 'nothing_due';",
        replace: '',
      },
    ],
  },
  {
    name: 'what was decided on a refused change of the same commit is stored',
    edits: [
      {
        file: 'store/memory/changes.ts',
        find: "if (chains.isBroken(id, version)) return { type: 'stale' };",
        replace: '',
      },
    ],
  },
];
