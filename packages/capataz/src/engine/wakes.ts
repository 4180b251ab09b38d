import type { Change } from '../core/change.ts';
import type { Task } from '../core/job.ts';
import { type TaskClass, taskClass } from '../core/requirements.ts';
import type { StrategyName } from '../core/strategy.ts';

/** A task that a commit queues. */
export interface Wake {
  readonly taskClass: TaskClass;
  readonly strategy: StrategyName;
}

/** The tasks that the change queues at once. */
export function wakesOf(change: Change, task: Task | null): Wake[] {
  if (change.job.held) return [];
  const wakes = (change.also?.children ?? []).flatMap((child) => wakesOf(child, null));
  for (const item of change.tasks) {
    if (item.type !== 'start' && item.type !== 'requeue') continue;
    if (item.timers.some(({ name }) => name === 'ready')) continue;
    const spec = item.type === 'start' ? item.spec : task?.spec;
    if (spec !== undefined) wakes.push({ taskClass: taskClass(spec), strategy: spec.strategy });
  }
  return wakes;
}
