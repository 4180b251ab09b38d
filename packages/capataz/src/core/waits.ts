import { durationMs } from '../std/duration.ts';
import { canonicalJson, cleanText, type JsonObject, type JsonValue } from '../std/json.ts';
import { unknownKeys } from '../std/nearest.ts';
import type { DispatchAction } from './action.ts';
import {
  checkedEmission,
  checkPriority,
  checkTarget,
  fault,
  storable,
  storableObject,
  targetsOf,
} from './checks.ts';
import { queueTimers, taskSpec } from './dispatch.ts';
import type { ApprovalWait, EventWait, Wait } from './job.ts';
import { attributesProblem, newJob } from './new-job.ts';
import type { Timer } from './signal.ts';
import type { JobStatus } from './status.ts';
import { Step } from './step.ts';
import type {
  ApprovalAction,
  ApprovalOptions,
  ChildAction,
  ChildOptions,
  ParallelAction,
  WaitForAction,
  WaitForOptions,
} from './wait-actions.ts';

/** How the waits begin that are no single task. Each checks everything before the step is touched. */

/** Ancestors that a job may have. */
const maxDepth = 16;
/** Tasks of one fan-out: all of them go into one commit, and all their results into one job. */
const maxBranches = 10_000;

/** @returns the aggregator, where there is nothing to wait for. */
export function beginParallel(step: Step, action: ParallelAction, data: JsonObject): string | null {
  const { tasks } = action;
  if (!Array.isArray(tasks)) throw fault(step, 'fans out without a list of tasks');
  if (tasks.length > maxBranches)
    throw fault(step, `fans out into ${tasks.length} tasks; ${maxBranches} is the most`);
  const to = aggregatorOf(step, action);
  const starts = tasks.map((task, index) => branch(step, task, index, to));
  step.note({
    type: 'fan_out_begun',
    state: step.job.state,
    to,
    number: tasks.length,
  });
  if (tasks.length === 0) {
    step.set({ data, hops: 0 });
    step.bring({ results: {} });
    return to;
  }
  begin(step, 'waiting_for_parallel', { type: 'parallel', to, count: tasks.length }, data, []);
  for (const { taskId, spec, timers, note } of starts) {
    step.task({ type: 'start', taskId, spec, timers });
    step.note(note);
  }
  return null;
}

/** What the tasks agree on, what the action says, or the state's only aggregate target. */
function aggregatorOf(step: Step, { tasks, to }: ParallelAction): string {
  const named = new Set(
    tasks.map((task) => task?.options?.on?.success).filter((name) => name !== undefined),
  );
  if (to !== undefined) named.add(to);
  if (named.size === 0) {
    const aggregates = [...step.state.to].filter(
      (name) => step.blueprint.states.get(name)?.aggregate,
    );
    if (aggregates.length === 1) named.add(aggregates[0] as string);
  }
  const [target, ...others] = named;
  if (target === undefined || others.length > 0) {
    const found = others.length > 0 ? [...named].join(', ') : 'none';
    throw fault(step, `fans out into tasks that name no one aggregator in on.success: ${found}`);
  }
  checkTarget(step, target);
  if (step.blueprint.states.get(target)?.aggregate !== true)
    throw fault(
      step,
      `fans out into "${target}", which is no aggregate state: give it aggregate: true`,
    );
  return target;
}

function branch(step: Step, action: DispatchAction, index: number, to: string) {
  if (action?.type !== 'dispatch')
    throw fault(step, `fans out, and its task ${index + 1} is no dispatch`);
  if (action.options.concurrencyKey !== undefined) {
    throw fault(step, `fans out with a concurrencyKey on task ${index + 1}; children can have one`);
  }
  const on = targetsOf(step, { success: to, ...action.options.on }, 'fans out');
  const spec = { ...taskSpec(step, action), branch: { index, on } };
  const delay = action.options.delay;
  const delayMs = delay === undefined ? 0 : durationMs(delay);
  const taskId = step.context.newId();
  const note = {
    type: 'task_dispatched',
    state: step.job.state,
    task: taskId,
    taskTo: 'PENDING',
    details: { skill: spec.skill, priority: spec.priority, index },
    ...(delayMs > 0 ? { delayMs } : {}),
  } as const;
  return { taskId, spec, timers: queueTimers(spec, delayMs, true), note };
}

const approvalKeys: readonly (keyof ApprovalOptions)[] = [
  'message',
  'show',
  'revision',
  'on',
  'signals',
  'deadline',
  'escalateAfter',
];

export function beginApproval(step: Step, { options }: ApprovalAction, data: JsonObject): null {
  checkOptions(step, options, approvalKeys, 'asks for approval');
  const { message, show, revision = null, signals = {}, deadline, escalateAfter } = options;
  if (typeof message !== 'string' || message === '')
    throw fault(step, 'asks for approval without a message');
  const on = targetsOf(step, options.on, 'asks for approval');
  const content = show === undefined ? null : storable(show, 'what the approval shows');
  const wait: ApprovalWait = {
    type: 'approval',
    id: step.context.newId(),
    message: cleanText(message),
    show: content,
    hash: contentHash(step, message, content),
    revision: revision === null ? null : cleanText(String(revision)),
    escalated: false,
    on,
    signals: targetsOf(step, signals, 'asks for approval'),
  };
  const timers = [...timer('deadline', deadline), ...timer('escalate', escalateAfter)];
  step.note({
    type: 'approval_asked',
    state: step.job.state,
    reason: wait.message,
    details: { wait: wait.id, hash: wait.hash, revision: wait.revision },
  });
  begin(step, 'waiting_for_human', wait, data, timers);
  return null;
}

function contentHash(step: Step, message: string, show: JsonValue): string {
  return step.context.hash(canonicalJson({ message, show }));
}

const childKeys: readonly (keyof ChildOptions)[] = [
  'on',
  'deadline',
  'priority',
  'attributes',
  'metadata',
];

/** `start` decides the child's first step; it is handed in, since it may begin waits itself. */
export function beginChild(
  step: Step,
  action: ChildAction,
  data: JsonObject,
  start: (child: Step) => void,
): null {
  const { job, context } = step;
  const { options } = action;
  checkOptions(step, options, childKeys, 'starts a child');
  const on = targetsOf(step, options.on, 'starts a child');
  const depth = (job.parent?.depth ?? 0) + 1;
  if (depth > maxDepth) throw fault(step, `starts a child below ${maxDepth} others`);
  const input = storable(action.input ?? null, 'the input of the child');
  const { priority = job.options.priority, attributes = {}, metadata } = options;
  checkPriority(step, priority, 'starts a child');
  const searchable = storableObject(attributes, 'attributes');
  const problem = attributesProblem(searchable);
  if (problem !== null) throw fault(step, `starts a child with ${problem}`);
  const prepared = context.prepareChild(action.blueprint, input);
  const childJob = newJob(prepared.blueprint, {
    id: context.newId(),
    client: job.client,
    input: prepared.input,
    priority,
    attributes: searchable,
    metadata: metadata === undefined ? job.options.metadata : storableObject(metadata, 'metadata'),
    correlationId: job.correlationId,
    trace: job.trace,
    parent: { jobId: job.id, depth },
  });
  const childStep = new Step(childJob, prepared.blueprint, childContext(step));
  start(childStep);
  step.note({
    type: 'child_started',
    state: job.state,
    details: { job: childJob.id, blueprint: childJob.blueprint },
  });
  const wait = { type: 'child', jobId: childJob.id, on } as const;
  begin(step, 'waiting_for_child', wait, data, timer('deadline', options.deadline));
  step.start(childStep.toChange());
  return null;
}

/** A lease belongs to one handler: the child's has a token of its own. */
function childContext({ context }: Step): Step['context'] {
  const { lease, newId } = context;
  if (lease === null) return context;
  return { ...context, lease: { ...lease, lease: { ...lease.lease, token: newId() } } };
}

const waitForKeys: readonly (keyof WaitForOptions)[] = [
  'on',
  'silence',
  'poll',
  'subscription',
  'deadline',
];
const deadlineAnswers = ['silence', 'timeout'];

export function beginWaitFor(step: Step, { options }: WaitForAction, data: JsonObject): null {
  checkOptions(step, options, waitForKeys, 'waits for signals');
  const { silence, poll, subscription = null, deadline } = options;
  if (silence === undefined && deadline === undefined)
    throw fault(step, 'waits for signals with neither silence nor deadline');
  if (subscription !== null && step.context.liveForMs(subscription) === null)
    throw fault(step, `waits for subscription "${subscription}", which this server does not have`);
  const targets = Object.entries(targetsOf(step, options.on ?? {}, 'waits for signals'));
  const isAnswer = ([name]: readonly [string, string]): boolean => deadlineAnswers.includes(name);
  const wait: EventWait = {
    type: 'event',
    on: Object.fromEntries(targets.filter(isAnswer)),
    signals: Object.fromEntries(targets.filter((entry) => !isAnswer(entry))),
    silence:
      silence === undefined
        ? null
        : { afterMs: durationMs(silence.after), resetBy: silence.resetBy ?? 'mapped' },
    poll:
      poll === undefined
        ? null
        : {
            everyMs: durationMs(poll.every),
            enter: poll.enter ?? null,
            emit: poll.emit === undefined ? null : checkedEmission(poll.emit),
          },
    subscription,
  };
  if (wait.poll?.enter != null) checkTarget(step, wait.poll.enter);
  if (wait.poll?.everyMs === 0) throw fault(step, 'polls every 0 ms');
  step.note({
    type: 'wait_begun',
    state: step.job.state,
    details: { signals: [...Object.keys(wait.signals), ...step.rowNames()] },
  });
  begin(step, 'waiting_for_event', wait, data, [
    ...timer('silence', silence?.after),
    ...timer('poll', poll?.every),
    ...timer('deadline', deadline),
  ]);
  return null;
}

function begin(
  step: Step,
  status: JobStatus,
  wait: Wait,
  data: JsonObject,
  timers: readonly Timer[],
): void {
  step.await({ status, wait, data, hops: 0 }, timers);
}

function timer(name: Timer['name'], after: string | undefined): Timer[] {
  return after === undefined ? [] : [{ name, afterMs: durationMs(after as `${number}s`) }];
}

function checkOptions(step: Step, options: object, known: readonly string[], verb: string): void {
  if (typeof options !== 'object' || options === null) throw fault(step, `${verb} without options`);
  const [unknown] = unknownKeys(options, known);
  if (unknown !== undefined) throw fault(step, `${verb} with an option that is none: ${unknown}`);
}
