import type {
  BatchJobAnswer,
  ConcurrencyBody,
  HistoryAnswer,
  HistoryView,
  JobsAnswer,
  JobView,
  ProgressView,
  StartJobAnswer,
  StartJobBody,
  WhyView,
} from '../protocol/client-api.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { SignalAnswer } from '../protocol/signals-api.ts';
import type { Clock } from '../std/clock.ts';
import { type Duration, durationMs } from '../std/duration.ts';
import type { JsonObject, JsonValue } from '../std/json.ts';
import type { Random } from '../std/random.ts';
import { type Http, refusalIn } from './http.ts';
import { followEvents } from './streams.ts';

export interface StartOptions {
  /** A UUID of your own. Default: a new one. */
  readonly jobId?: string;
  /**
   * A start with the same key and content is answered with the first job. Default: a key of its
   * own, so that this call's retries never start two jobs.
   */
  readonly idempotencyKey?: string;
  /** −1000 to 1000, higher first. Default 0. */
  readonly priority?: number;
  /** Searchable. */
  readonly attributes?: JsonObject;
  /** Passed through to handlers. */
  readonly metadata?: JsonObject;
  /** Longest time of a task in the queue. Default none. */
  readonly dispatchTimeout?: Duration;
  /** Longest time from dispatch to result. Default none. */
  readonly resultTimeout?: Duration;
  /** Default none. */
  readonly startDelay?: Duration;
  /** Links the job's book, events and log lines. Default: a new UUID, which the server makes. */
  readonly correlationId?: string;
  /** Limits the open jobs of a key. Default: as the blueprint says. */
  readonly concurrency?: ConcurrencyOption;
}

export interface ConcurrencyOption {
  readonly key: string;
  /** Open jobs of this key, at most. */
  readonly limit: number;
  /**
   * Where the key is full: `queue` (default) stores the job, which waits for a place; `skip` throws
   * SKIPPED, `refuse` throws LIMIT.
   */
  readonly onBusy?: 'queue' | 'skip' | 'refuse';
}

export interface StartedJob {
  readonly jobId: string;
}

export interface JobsFilter {
  readonly status?: readonly string[];
  readonly blueprint?: string;
  readonly state?: string;
  readonly correlationId?: string;
  /** Only jobs whose attributes have all of these values. */
  readonly attributes?: Readonly<Record<string, JsonValue>>;
  /** Jobs a page, 1 to 1,000. Default 100. */
  readonly limit?: number;
  /** `next` of the page before. */
  readonly before?: string;
}

/** One thing that happened to a watched job. */
export type WatchedEvent =
  | { readonly type: 'entry'; readonly entry: HistoryView }
  | { readonly type: 'progress'; readonly progress: ProgressView };

export interface WatchOptions {
  /** Only entries with a higher sequence. Default 0: the whole book. */
  readonly after?: number;
  /** Ends the watch. */
  readonly signal?: AbortSignal;
}

/** Jobs. Every method throws CapatazError with the server's code, or UNREACHABLE. */
export interface Jobs {
  /** Stored when it resolves. @throws BLUEPRINT_NOT_FOUND, INPUT_INVALID, IDEMPOTENCY_CONFLICT, … */
  start(blueprint: string, input?: JsonValue, options?: StartOptions): Promise<StartedJob>;
  /** Up to 1,000 in one commit, answered in order; a refused one harms none of the others. */
  startMany(
    blueprint: string,
    jobs: readonly { readonly input?: JsonValue; readonly options?: BatchItemOptions }[],
    options?: Pick<StartOptions, 'idempotencyKey'>,
  ): Promise<(StartedJob | CapatazError)[]>;
  /** @throws JOB_NOT_FOUND, also for a job of another client */
  get(id: string): Promise<JobView>;
  /** One page, newest first. */
  list(filter?: JobsFilter): Promise<JobsAnswer>;
  /** All pages. */
  all(filter?: JobsFilter): AsyncIterable<JobView>;
  /** @throws ALREADY_FINAL */
  cancel(id: string, options?: { readonly reason?: string }): Promise<JobView>;
  /** @throws NOT_QUARANTINED */
  redrive(id: string): Promise<JobView>;
  /** Gives a quarantined job up: it ends as failed, with the error that parked it. @throws NOT_QUARANTINED */
  dismiss(id: string, options?: { readonly reason?: string }): Promise<JobView>;
  /**
   * Tells a job that something has happened; stored when it resolves. The same `signalId` again
   * changes nothing. @throws JOB_NOT_FOUND, SIGNAL_REFUSED, ALREADY_FINAL
   */
  signal(
    id: string,
    name: string,
    data?: JsonValue,
    options?: { readonly signalId?: string },
  ): Promise<SignalAnswer>;
  hold(id: string): Promise<JobView>;
  release(id: string): Promise<JobView>;
  /** The whole book behind `after`, page by page. */
  history(id: string, options?: { readonly after?: number }): AsyncIterable<HistoryView>;
  why(id: string): Promise<WhyView>;
  /** The book, what is stored first, then live, until the job has ended. Survives broken connections. */
  watch(id: string, options?: WatchOptions): AsyncIterable<WatchedEvent>;
  /** Resolves when the job has ended or is quarantined. @throws WAIT_TIMEOUT; the job then goes on */
  wait(id: string, options?: { readonly timeout?: Duration }): Promise<JobView>;
}

export type BatchItemOptions = Omit<StartOptions, 'idempotencyKey' | 'correlationId'>;

interface JobsParts {
  readonly http: Http;
  readonly clock: Clock;
  readonly random: Random;
}

const finalEntries = new Set(['job_finished', 'job_failed', 'job_cancelled']);
const settledStatuses = new Set(['finished', 'failed', 'cancelled', 'quarantined']);

export function createJobs(parts: JobsParts): Jobs {
  const { http } = parts;
  const steer = (id: string, verb: string, body: object = {}): Promise<JobView> =>
    http.json({ method: 'POST', path: `${jobPath(id)}/${verb}`, body });
  const jobs: Jobs = {
    start: (blueprint, input, options) => start(parts, blueprint, input, options),
    startMany: (blueprint, items, options) => startMany(parts, blueprint, items, options),
    get: (id) => http.json({ method: 'GET', path: jobPath(id) }),
    list: (filter) => list(http, filter),
    all: (filter) => allPages(http, filter),
    cancel: (id, { reason } = {}) => steer(id, 'cancel', reason === undefined ? {} : { reason }),
    redrive: (id) => steer(id, 'redrive'),
    dismiss: (id, { reason } = {}) => steer(id, 'dismiss', reason === undefined ? {} : { reason }),
    signal: (id, name, data, { signalId = parts.random.id() } = {}) =>
      http.json({
        method: 'POST',
        path: `${jobPath(id)}/signals`,
        body: { name, id: signalId, ...(data === undefined ? {} : { data }) },
        // Its id makes a repetition harmless.
        retry: 'always',
      }),
    hold: (id) => steer(id, 'hold'),
    release: (id) => steer(id, 'release'),
    history: (id, { after = 0 } = {}) => historyPages(http, id, after),
    why: (id) => http.json({ method: 'GET', path: `${jobPath(id)}/why` }),
    watch: (id, options) => watch(parts, id, options),
    wait: (id, { timeout } = {}) => wait(parts, jobs, id, timeout),
  };
  return jobs;
}

export function jobPath(id: string): string {
  return `/api/v1/jobs/${encodeURIComponent(id)}`;
}

async function start(
  { http, random }: JobsParts,
  blueprint: string,
  input: JsonValue | undefined,
  options: StartOptions = {},
): Promise<StartedJob> {
  const { job_id } = await http.json<StartJobAnswer>({
    method: 'POST',
    path: jobPath(blueprint),
    headers: {
      'Idempotency-Key': options.idempotencyKey ?? random.id(),
      'X-Correlation-ID': options.correlationId,
    },
    body: startBody(input, options),
    retry: 'always',
  });
  return { jobId: job_id };
}

async function startMany(
  { http, random }: JobsParts,
  blueprint: string,
  items: readonly { readonly input?: JsonValue; readonly options?: BatchItemOptions }[],
  { idempotencyKey = random.id() }: Pick<StartOptions, 'idempotencyKey'> = {},
): Promise<(StartedJob | CapatazError)[]> {
  const answers = await http.json<readonly BatchJobAnswer[]>({
    method: 'POST',
    path: `${jobPath(blueprint)}/batch`,
    headers: { 'Idempotency-Key': idempotencyKey },
    body: items.map(({ input, options = {} }) => startBody(input, options)),
    retry: 'always',
  });
  return answers.map((answer) => {
    if (answer.status === 'accepted') return { jobId: answer.job_id };
    const { code = 'INTERNAL', error = answer.error, details } = refusalIn({ ...answer });
    return new CapatazError(code, error, details);
  });
}

function startBody(input: JsonValue | undefined, options: BatchItemOptions): StartJobBody {
  const { jobId, priority, attributes, metadata } = options;
  const { dispatchTimeout, resultTimeout, startDelay, concurrency } = options;
  return {
    ...(input === undefined ? {} : { initial_data: input }),
    ...(jobId === undefined ? {} : { job_id: jobId }),
    ...(priority === undefined ? {} : { priority }),
    ...(attributes === undefined ? {} : { attributes }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(dispatchTimeout === undefined ? {} : { dispatch_timeout: seconds(dispatchTimeout) }),
    ...(resultTimeout === undefined ? {} : { result_timeout: seconds(resultTimeout) }),
    ...(startDelay === undefined ? {} : { start_delay: seconds(startDelay) }),
    ...(concurrency === undefined ? {} : { concurrency: concurrencyBody(concurrency) }),
  };
}

function concurrencyBody({ key, limit, onBusy }: ConcurrencyOption): ConcurrencyBody {
  return { key, limit, ...(onBusy === undefined ? {} : { on_busy: onBusy }) };
}

export function seconds(duration: Duration): number {
  return durationMs(duration) / 1_000;
}

function list(
  http: Http,
  { status, correlationId, attributes = {}, ...filter }: JobsFilter = {},
): Promise<JobsAnswer> {
  // As JSON in any case: the text 7 is not the number.
  const wanted = Object.entries(attributes).map(([name, value]) => [
    `attr.${name}`,
    JSON.stringify(value),
  ]);
  const query = {
    ...filter,
    status: status?.join(','),
    correlation_id: correlationId,
    ...Object.fromEntries(wanted),
  };
  return http.json({ method: 'GET', path: '/api/v1/jobs', query });
}

async function* allPages(http: Http, filter: JobsFilter = {}): AsyncGenerator<JobView, void, void> {
  let before: string | null | undefined = filter.before;
  do {
    const page: JobsAnswer = await list(http, { ...filter, ...(before ? { before } : {}) });
    yield* page.jobs;
    before = page.next;
  } while (before !== null);
}

async function* historyPages(
  http: Http,
  id: string,
  from: number,
): AsyncGenerator<HistoryView, void, void> {
  let after: number | null = from;
  while (after !== null) {
    const path = `${jobPath(id)}/history`;
    const page: HistoryAnswer = await http.json({ method: 'GET', path, query: { after } });
    yield* page.history;
    after = page.next;
  }
}

async function* watch(
  parts: JobsParts,
  id: string,
  { after = 0, signal }: WatchOptions = {},
): AsyncGenerator<WatchedEvent, void, void> {
  const path = `${jobPath(id)}/events`;
  for await (const { name, data } of followEvents({ ...parts, path, after, signal })) {
    if (name === 'progress') {
      // The server's own event, of the type that it documents.
      yield { type: 'progress', progress: JSON.parse(data) as ProgressView };
      continue;
    }
    const entry = JSON.parse(data) as HistoryView;
    yield { type: 'entry', entry };
    if (finalEntries.has(entry.type)) return;
  }
}

/** An entry of the book is only the hint to look: what decides is the job itself. */
async function wait(
  { clock, ...parts }: JobsParts,
  jobs: Jobs,
  id: string,
  timeout: Duration | undefined,
): Promise<JobView> {
  const given = new AbortController();
  const cancel =
    timeout === undefined ? () => {} : clock.after(durationMs(timeout), () => given.abort());
  try {
    let job = await jobs.get(id);
    if (settledStatuses.has(job.status)) return job;
    for await (const event of watch({ clock, ...parts }, id, { signal: given.signal })) {
      const isHint =
        event.type === 'entry' &&
        (finalEntries.has(event.entry.type) || event.entry.type === 'job_quarantined');
      if (!isHint) continue;
      job = await jobs.get(id);
      if (settledStatuses.has(job.status)) return job;
    }
    job = await jobs.get(id);
    if (settledStatuses.has(job.status)) return job;
    throw new CapatazError('WAIT_TIMEOUT', `job ${id} is ${job.status} after ${timeout}`, {
      job: id,
      status: job.status,
      state: job.state,
    });
  } finally {
    cancel();
  }
}
