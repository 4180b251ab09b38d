import type { Change } from '../../core/change.ts';
import { isFinal } from '../../core/status.ts';
import type { Work } from '../contract.ts';
import { addressKey } from '../memory/inbox.ts';
import { waitKeyOf } from '../memory/shares.ts';
import { signalIdOf } from '../rules.ts';

/** What the rules will ask for when they are applied to a batch of work. Too much does no harm. */
export class Touched {
  /** Jobs that are changed, told something, or written about. */
  readonly jobs = new Set<string>();
  /** Of these the whole record is needed, since it stays as it is, or is asked what it waits for. */
  readonly whole = new Set<string>();
  /** Of these all tasks and branches are needed. */
  readonly allTasks = new Set<string>();
  readonly tasks: { readonly job: string; readonly id: string }[] = [];
  /** Of these one task more is needed, and one that nothing moves: of jobs that wait for several. */
  readonly others = new Set<string>();
  /** Ids of tasks that may be queued again, and handed out by the same commit. */
  readonly requeued = new Set<string>();
  /** Ids of items that are taken out of an inbox, or put in where one of that id may be already. */
  readonly items = new Set<string>();
  readonly signals = new Set<string>();
  readonly shares = new Set<string>();
  readonly addresses = new Set<string>();
  readonly keys: { readonly client: string; readonly key: string }[] = [];
  /** Children that jobs wait for. */
  readonly children = new Set<string>();
  /** Class keys → how many tasks the claims may take of each, and how many suspects. */
  readonly classes = new Map<string, { count: number; suspects: number }>();
  /** Jobs may wait for shares. */
  waits = false;

  constructor(works: readonly Work[]) {
    for (const { changes = [], starts = [], notes = [], letters = [], claims = [] } of works) {
      for (const { change, idempotency } of changes) {
        this.#change(change);
        if (idempotency) this.keys.push({ client: change.job.client, key: idempotency.key });
      }
      for (const { jobId, taskId } of starts) {
        this.jobs.add(jobId);
        this.tasks.push({ job: jobId, id: taskId });
      }
      for (const { jobId } of notes) this.jobs.add(jobId);
      for (const { client, key, item } of letters) {
        this.addresses.add(addressKey(client, key));
        this.signals.add(signalIdOf(item.id));
      }
      for (const { lanes, max, maxSuspects } of claims) {
        for (const key of new Set(lanes.flat())) this.#class(key, max, Math.min(max, maxSuspects));
      }
    }
  }

  #class(key: string, max: number, maxSuspects: number): void {
    const wanted = this.classes.get(key) ?? { count: 0, suspects: 0 };
    wanted.count += max;
    wanted.suspects += maxSuspects;
    this.classes.set(key, wanted);
  }

  #change(change: Change): void {
    const { job, scope, tasks, reservations, also } = change;
    const { id, wait } = job;
    this.jobs.add(id);
    if (scope === 'tasks') this.whole.add(id);
    // A change beside a job leaves its wait as it is, whatever that is.
    if (scope === 'tasks' || wait?.type === 'parallel') this.others.add(id);
    const isSwept = tasks.some(({ type }) => type === 'cancel_all');
    if (isSwept || isFinal(job.status) || job.held) this.allTasks.add(id);
    for (const step of tasks) {
      if ('taskId' in step) this.tasks.push({ job: id, id: step.taskId });
      if (step.type === 'requeue') this.requeued.add(step.taskId);
    }
    if (wait?.type === 'task') this.tasks.push({ job: id, id: wait.taskId });
    if (wait?.type === 'child') this.children.add(wait.jobId);
    const key = waitKeyOf(job);
    if (key !== null) {
      this.shares.add(key);
      this.waits = true;
    }
    for (const reservation of reservations) this.shares.add(reservation.key);
    if (also === null) return;
    if (also.fired?.taskId != null) this.tasks.push({ job: id, id: also.fired.taskId });
    if (also.signalId !== null) this.signals.add(also.signalId);
    for (const release of also.releases) this.shares.add(release);
    for (const settle of also.settles) this.shares.add(settle.key);
    for (const take of also.takes) this.items.add(take);
    for (const post of also.posts) {
      this.jobs.add(post.jobId);
      this.whole.add(post.jobId);
      this.items.add(post.item.id);
    }
    for (const address of also.keys) this.addresses.add(addressKey(job.client, address));
    for (const child of also.children) this.#change(child);
  }
}
