import { createHash } from 'node:crypto';
import { CapatazError } from 'capataz';
import type { Client } from 'capataz/client';
import { blueprintName } from '../execution/blueprint.ts';
import { type ExecutionInput, executionInput, hostOf, recordOf } from '../execution/record.ts';
import type { SignalData, SignalName } from '../execution/signals.ts';
import { type OpenExecution, pairKey, slotKey } from '../planning/model.ts';

export type JobView = Awaited<ReturnType<Client['jobs']['get']>>;

export interface ToSignal<N extends SignalName = SignalName> {
  readonly jobId: string;
  readonly name: N;
  readonly data: SignalData<N>;
}

/** What became of a signal. `ended`: the execution is over. */
export type Told = 'taken' | 'refused' | 'ended';

const openStatuses = [
  'pending',
  'running',
  'waiting_for_event',
  'waiting_for_timer',
  'quarantined',
] as const;
const pageSize = 1_000;
const startsAtOnce = 20;
/** The newest of a robot on a device: a slot that is due is among them. */
const slotsLookedAt = 50;

/** Executions as jobs of the server: the one place where their state lies. */
export class Executions {
  #client: () => Client = () => {
    throw new CapatazError('NOT_READY', 'the server does not run yet');
  };
  #pending = 0;

  /** The server's own client, which there is only once the server is being made. */
  connect(client: () => Client): void {
    this.#client = client;
  }

  /** Requests under way: time that a test moves must stand still for them. */
  get isBusy(): boolean {
    return this.#pending > 0;
  }

  async open(): Promise<OpenExecution[]> {
    return this.#counted(async () => {
      const open: OpenExecution[] = [];
      const filter = { blueprint: blueprintName, status: openStatuses, limit: pageSize };
      for await (const job of this.#client().jobs.all(filter)) open.push(openExecution(job));
      return open.reverse();
    });
  }

  /** Null for a job that there is none of, or of another blueprint. */
  async get(jobId: string): Promise<JobView | null> {
    return this.#counted(async () => {
      try {
        const job = await this.#client().jobs.get(jobId);
        return job.blueprint === blueprintName ? job : null;
      } catch (error) {
        if (error instanceof CapatazError && error.code === 'JOB_NOT_FOUND') return null;
        throw error;
      }
    });
  }

  /** The execution that a slot of a schedule had, or null. */
  async ofSlot(input: ExecutionInput): Promise<JobView | null> {
    return this.#counted(async () => {
      const { attributes } = startOptions(input);
      const filter = { blueprint: blueprintName, attributes, limit: slotsLookedAt };
      const { jobs } = await this.#client().jobs.list(filter);
      const key = slotKey(input);
      return jobs.find((job) => slotKey(executionInput.parse(job.input)) === key) ?? null;
    });
  }

  /** @returns the jobs' ids, in order; null where there is one already that does the same */
  async start(inputs: readonly ExecutionInput[]): Promise<(string | null)[]> {
    const ids: (string | null)[] = [];
    for (let at = 0; at < inputs.length; at += startsAtOnce) {
      const some = inputs.slice(at, at + startsAtOnce);
      ids.push(...(await Promise.all(some.map((input) => this.#startOne(input)))));
    }
    return ids;
  }

  async #startOne(input: ExecutionInput): Promise<string | null> {
    return this.#counted(async () => {
      try {
        const { jobId } = await this.#client().jobs.start(
          blueprintName,
          input,
          startOptions(input),
        );
        return jobId;
      } catch (error) {
        if (error instanceof CapatazError && isThereAlready(error)) return null;
        throw error;
      }
    });
  }

  /** In one commit where nothing speaks against it. Answers are in order. @throws CapatazError */
  async tell(signals: readonly ToSignal[]): Promise<Told[]> {
    const told: Told[] = [];
    for (let at = 0; at < signals.length; at += pageSize) {
      const some = signals.slice(at, at + pageSize);
      const answers = await this.#counted(() => this.#client().signals.send(some));
      told.push(...answers.map(toldBy));
    }
    return told;
  }

  /** For a deployment whose job nobody named: kept until one has it. */
  async tellDeployment(
    key: string,
    data: SignalData<'callback'>,
    keepFor: `${number}d`,
  ): Promise<'kept' | 'accepted' | Told> {
    const [answer] = await this.#counted(() =>
      this.#client().signals.send([{ key, name: 'callback', data, keepFor }]),
    );
    if (answer === undefined || answer instanceof CapatazError) return toldBy(answer);
    return answer.status;
  }

  async #counted<T>(work: () => Promise<T>): Promise<T> {
    this.#pending += 1;
    try {
      return await work();
    } finally {
      this.#pending -= 1;
    }
  }
}

function toldBy(answer: { readonly status: string } | CapatazError | undefined): Told {
  if (!(answer instanceof CapatazError)) return 'taken';
  if (answer.code === 'ALREADY_FINAL' || answer.code === 'JOB_NOT_FOUND') return 'ended';
  if (answer.retryable) throw answer;
  return 'refused';
}

function isThereAlready({ code }: CapatazError): boolean {
  return code === 'IDEMPOTENCY_CONFLICT' || code === 'SKIPPED' || code === 'JOB_EXISTS';
}

/**
 * A slot has one job, whoever starts it and however often. What repeats has one open job a device: it
 * has no slot to be known by.
 */
function startOptions(input: ExecutionInput) {
  const { origin, robotId, device, robot, scheduleId } = input;
  const attributes = { robot: robotId, nombre: robot, equipo: hostOf(device), origen: origin };
  if (origin === 'programada')
    return { attributes, idempotencyKey: `slot:${digest(slotKey(input))}` };
  if (origin === 'manual') return { attributes };
  const key = `repetida:${pairKey(robotId, device)}:${origin}:${scheduleId}`;
  return { attributes, concurrency: { key, limit: 1, onBusy: 'skip' as const } };
}

/** Keys have few letters and a limit; host names may have any. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

export function openExecution(job: JobView): OpenExecution {
  return {
    id: job.id,
    state: job.state,
    isQuarantined: job.status === 'quarantined',
    enteredAt: Date.parse(job.entered_at),
    input: executionInput.parse(job.input),
    record: recordOf(job),
  };
}
