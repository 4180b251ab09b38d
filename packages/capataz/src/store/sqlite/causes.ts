import { type Deadlines, earliest } from '../rules.ts';
import {
  type FoundJob,
  findTask,
  type PlannedTask,
  type TaskPlan,
  type Times,
} from './change-plan.ts';
import type { ChangeMessage, NeedMessage } from './messages.ts';
import type { WriterState } from './writer-state.ts';

/** What a change leaves the job with. */
export interface Left {
  readonly found: FoundJob | undefined;
  readonly plan: TaskPlan;
  readonly next: Times;
}

/** The rule of no limbo over what the change leaves (S-6); core/limbo.ts has it in full. */
export function hasCause(
  state: WriterState,
  need: NeedMessage,
  { also }: ChangeMessage,
  left: Left,
): boolean {
  if (need === 'nothing') return true;
  if (need === 'handler') return left.next.leaseUntil !== null;
  if (typeof need === 'object' && 'task' in need) return taskCause(state, need.task, left);
  const { wake, inbox, silence, deadline } = JSON.parse(left.next.timers) as Deadlines;
  if (need === 'wake') return wake !== undefined;
  if (inbox !== undefined) return true;
  if (need === 'branches') return branchesMove(state, left);
  if (deadline !== undefined) return true;
  if (need === 'signals') return silence !== undefined;
  const startsChild = also !== null && also.children.length > 0;
  return startsChild || state.statements.get('job-find', need.child) !== undefined;
}

function taskCause(state: WriterState, id: string, { plan, found }: Left): boolean {
  const planned = plan.after.get(id);
  const task = planned === undefined && !plan.othersAreGone ? findTask(state, found, id) : planned;
  return task != null && taskMoves(state, task);
}

function taskMoves(state: WriterState, task: PlannedTask): boolean {
  if (task.status === 'PENDING' || earliest(task.deadlines) !== null) return true;
  return task.worker !== null && state.statements.get('worker-find', task.worker) !== undefined;
}

/** There is one at least, and each of them moves. Those that the change leaves alone are not read. */
function branchesMove(state: WriterState, { plan, found }: Left): boolean {
  if (!isAnyOpen(state, plan, found)) return false;
  for (const task of plan.after.values()) {
    if (task !== null && !taskMoves(state, task)) return false;
  }
  if (plan.othersAreGone || found === undefined) return true;
  return state.statements.get('tasks-stuck', found.n, touchedIds(plan)) === undefined;
}

/** Whether the job has an open task when the change is done. */
export function isAnyOpen(
  state: WriterState,
  plan: TaskPlan,
  found: FoundJob | undefined,
): boolean {
  for (const task of plan.after.values()) if (task !== null) return true;
  if (plan.othersAreGone || found === undefined) return false;
  return state.statements.get('tasks-other', found.n, touchedIds(plan)) !== undefined;
}

function touchedIds({ after }: TaskPlan): string {
  return JSON.stringify([...after.keys()]);
}
