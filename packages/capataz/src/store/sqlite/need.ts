import type { Job } from '../../core/job.ts';
import { isFinal } from '../../core/status.ts';
import { unreachable } from '../../std/assert.ts';
import type { NeedMessage } from './messages.ts';

/** The mirror of core/limbo.ts: what the writer has to look for. */
export function needOf({ status, held, wait }: Pick<Job, 'status' | 'held' | 'wait'>): NeedMessage {
  if (isFinal(status) || status === 'quarantined' || held) return 'nothing';
  if (wait === null) return 'handler';
  switch (wait.type) {
    case 'timer':
      return 'wake';
    case 'task':
      return { task: wait.taskId };
    case 'parallel':
      return 'branches';
    case 'event':
      return 'signals';
    case 'child':
      return { child: wait.jobId };
    case 'approval':
      return 'nothing';
    default:
      return unreachable(wait);
  }
}
