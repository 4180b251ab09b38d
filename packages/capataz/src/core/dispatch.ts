import { durationMs } from '../std/duration.ts';
import { cleanText, type JsonObject } from '../std/json.ts';
import { unknownKeys } from '../std/nearest.ts';
import type { DispatchAction, DispatchOptions } from './action.ts';
import { isRetryTarget } from './blueprint.ts';
import { checkPriority, checkTarget, fault, storableObject, targetsOf } from './checks.ts';
import type { TaskSpec } from './job.ts';
import { type Requirements, requirementsProblem } from './requirements.ts';
import { type RetryPolicy, retryPolicy } from './retry.ts';
import type { Timer } from './signal.ts';
import type { Step } from './step.ts';
import { strategyNames } from './strategy.ts';

/** What a dispatch asks for, as a task. */

const defaultExecutionLimitMs = 300_000;
const dispatchKeys: readonly (keyof DispatchOptions)[] = [
  'on',
  'priority',
  'dispatchTimeout',
  'resultTimeout',
  'executionLimit',
  'delay',
  'requirements',
  'strategy',
  'maxCost',
  'notDuring',
  'retry',
  'metadata',
  'concurrencyKey',
];

export function startTask(step: Step, action: DispatchAction, data: JsonObject): null {
  const on = targetsOf(step, action.options.on, 'dispatches');
  const spec = taskSpec(step, action);
  const delay = action.options.delay;
  const delayMs = delay === undefined ? 0 : durationMs(delay);
  const taskId = step.context.newId();
  step.await({
    status: 'waiting_for_worker',
    wait: { type: 'task', taskId, on },
    data,
    hops: 0,
  });
  queueTask(step, taskId, spec, delayMs);
  return null;
}

/** The task waits for a worker, once its delay is over. */
export function queueTask(step: Step, taskId: string, spec: TaskSpec, delayMs = 0): void {
  step.note({
    type: 'task_dispatched',
    state: step.job.state,
    task: taskId,
    taskTo: 'PENDING',
    details: { skill: spec.skill, priority: spec.priority },
    ...(delayMs > 0 ? { delayMs } : {}),
  });
  step.task({ type: 'start', taskId, spec, timers: queueTimers(spec, delayMs, true) });
}

export function taskSpec(step: Step, { skill, params, options }: DispatchAction): TaskSpec {
  const { job } = step;
  const priority = options.priority ?? job.options.priority;
  checkPriority(step, priority, 'dispatches');
  if (typeof skill !== 'string' || skill === '') throw fault(step, 'dispatches without a skill');
  const [unknown] = unknownKeys(options, dispatchKeys);
  if (unknown !== undefined)
    throw fault(step, `dispatches with an option that is none: ${unknown}`);
  const strategy = options.strategy ?? 'default';
  if (!strategyNames.includes(strategy)) {
    throw fault(
      step,
      `dispatches with strategy "${strategy}"; there is ${strategyNames.join(', ')}`,
    );
  }
  const maxCost = options.maxCost ?? null;
  if (maxCost !== null && !Number.isFinite(maxCost)) {
    throw fault(step, `dispatches with maxCost ${maxCost}, which is no number`);
  }
  const ms = (text: string | undefined): number | null =>
    text === undefined ? null : durationMs(text);
  return {
    client: job.client,
    skill: cleanText(skill),
    params: storableObject(params, 'params'),
    requirements: taskRequirements(step, options.requirements ?? {}),
    strategy,
    maxCost,
    ...taskBlackout(step, options.notDuring),
    priority,
    dispatchTimeoutMs: ms(options.dispatchTimeout) ?? job.options.dispatchTimeoutMs,
    resultTimeoutMs: ms(options.resultTimeout) ?? job.options.resultTimeoutMs,
    executionLimitMs: ms(options.executionLimit) ?? defaultExecutionLimitMs,
    retry: taskRetry(step, options.retry),
    metadata: options.metadata === undefined ? null : storableObject(options.metadata, 'metadata'),
    correlationId: job.correlationId,
    trace: job.trace,
    ...(options.concurrencyKey === undefined ? {} : { share: shareOf(options.concurrencyKey) }),
  };
}

function taskBlackout(step: Step, notDuring: unknown): Pick<TaskSpec, 'notDuring'> {
  if (notDuring === undefined) return {};
  if (typeof notDuring === 'string' && step.context.isBlackout(notDuring)) return { notDuring };
  throw fault(step, `dispatches with notDuring ${JSON.stringify(notDuring)}, which is no blackout`);
}

function shareOf({ key, limit }: { readonly key: string; readonly limit: number }) {
  return { key, limit };
}

function taskRequirements(step: Step, asked: Requirements): Requirements {
  const cleaned = storableObject(asked, 'requirements');
  const problem = requirementsProblem(cleaned);
  if (problem !== null) throw fault(step, `dispatches with requirements whose ${problem}`);
  // The check above is what the type says.
  return cleaned as Requirements;
}

function taskRetry(step: Step, options: DispatchAction['options']['retry']): RetryPolicy {
  if (options === undefined) return step.state.retry(step.job);
  const policy = retryPolicy(options, (field, problem) => {
    throw fault(step, `dispatches with retry.${field} that ${problem}`);
  });
  if (!isRetryTarget(policy.then, step.state.to)) checkTarget(step, policy.then);
  return policy;
}

/** The deadlines of a task that goes to the queue after a delay; none runs during the delay. */
export function queueTimers(spec: TaskSpec, delayMs: number, first: boolean): Timer[] {
  const timers: Timer[] = [];
  if (delayMs > 0) timers.push({ name: 'ready', afterMs: delayMs });
  if (spec.dispatchTimeoutMs !== null) {
    timers.push({ name: 'dispatch', afterMs: delayMs + spec.dispatchTimeoutMs });
  }
  if (first && spec.resultTimeoutMs !== null) {
    timers.push({ name: 'result', afterMs: delayMs + spec.resultTimeoutMs });
  }
  return timers;
}
