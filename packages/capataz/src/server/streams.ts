import type { HistoryType, StoredEntry } from '../core/history.ts';
import type { Job } from '../core/job.ts';
import { isFinal } from '../core/status.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { JobEvent } from '../store/contract.ts';
import type { ServerContext } from './context.ts';
import { correlationHeader } from './correlation.ts';
import { EventStream, type StreamedEvent } from './event-stream.ts';
import { Wake } from './live-feed.ts';
import { type Answer, type Call, noContent } from './route.ts';
import { clientOf } from './routes/client-of.ts';
import { historyView, jobEventView, progressView } from './views.ts';

/** Entries of a job's book read at once. */
const pageSize = 200;

/** The last of a job's book, apart from refusals that come later. */
const finalTypes: ReadonlySet<HistoryType> = new Set([
  'job_finished',
  'job_failed',
  'job_cancelled',
]);

/** Where events go: a stream, or a watch of a socket. */
export interface Sink {
  readonly isOpen: boolean;
  /** Resolves when there is room for more, or it is closed. */
  send(events: readonly StreamedEvent[]): Promise<void>;
  /** Moves the reader past what is not for it. */
  mark(id: number): Promise<void>;
}

/** What a reader follows, from a position on. */
export interface Following {
  readonly step: (sink: Sink) => Promise<'more' | 'wait' | 'end'>;
  readonly subscribe: (wake: Wake) => () => void;
}

interface JobFollowing extends Following {
  /** Whether the job has ended and nothing lies behind the position. */
  isOver(): Promise<boolean>;
}

type JobName = Pick<Job, 'id' | 'correlationId'>;

/**
 * A job's book as events. A job that has ended and has nothing behind `after` is answered 204, which
 * tells an EventSource not to come back.
 */
export async function streamJob(
  context: ServerContext,
  call: Call,
  job: JobName,
  after: number,
): Promise<Answer> {
  const following = followJob(context, job, after);
  return (await following.isOver()) ? noContent : stream(context, call, following);
}

/** The books of all jobs of one client, by position, for ever. */
export function streamAll(
  context: ServerContext,
  call: Call,
  client: string,
  after: number,
): Answer {
  return stream(context, call, followAll(context, client, after));
}

/** A job's book, what is stored first, then what comes, until its final entry was sent. */
export function followJob(
  { engine: { jobs }, feed }: ServerContext,
  { id: jobId, correlationId }: JobName,
  after: number,
): JobFollowing {
  let position = after;
  let lastProgress = '';
  const hasMore = async (): Promise<boolean> => (await jobs.history(jobId, position, 1)).length > 0;
  // The book is looked at again behind the status: the final entry may come between the two. It
  // may also be missing (S-45), and the job still ends the stream.
  const isOver = async (): Promise<boolean> =>
    isFinal((await jobs.get(jobId, null)).status) && !(await hasMore());
  const step: Following['step'] = async (sink) => {
    const page = await jobs.history(jobId, position, pageSize);
    const text = (entry: StoredEntry): string => JSON.stringify(historyView(entry, correlationId));
    await sink.send(page.map((entry) => ({ id: entry.seq, data: text(entry) })));
    position = page.at(-1)?.seq ?? position;
    if (page.length === pageSize) return 'more';
    if (page.some(({ type }) => finalTypes.has(type))) return 'end';
    const progress = jobs.progress(jobId);
    const data = progress === null ? lastProgress : JSON.stringify(progressView(progress));
    if (data !== lastProgress) {
      lastProgress = data;
      await sink.send([{ name: 'progress', data }]);
    }
    if (page.length > 0 || !(await isOver())) return 'wait';
    return 'end';
  };
  return { step, subscribe: (wake) => feed.onJob(jobId, wake), isOver };
}

export function followAll({ feed }: ServerContext, client: string, after: number): Following {
  let position = after;
  const step: Following['step'] = async (sink) => {
    const page = await feed.page(position);
    const own = page.events.filter((event) => event.client === client);
    await sink.send(own.map((event, index) => positioned(event, own[index + 1])));
    const isMoved = page.position > position;
    position = page.position;
    if (isMoved && own.at(-1)?.position !== position) await sink.mark(position);
    return page.events.length > 0 ? 'more' : 'wait';
  };
  return { step, subscribe: (wake) => feed.onAny(wake) };
}

/** Entries of one commit share a position: only the last of them may move the reader past it. */
function positioned(event: JobEvent, next: JobEvent | undefined): StreamedEvent {
  const data = eventText(event);
  return next?.position === event.position ? { data } : { id: event.position, data };
}

/** An event is written to many streams, and put into words once. */
const eventTexts = new WeakMap<JobEvent, string>();

function eventText(event: JobEvent): string {
  const known = eventTexts.get(event);
  if (known !== undefined) return known;
  const text = JSON.stringify(jobEventView(event));
  eventTexts.set(event, text);
  return text;
}

function stream(context: ServerContext, call: Call, following: Following): Answer {
  const { reply } = call;
  const leave = enter(context, clientOf(call).name);
  reply.hijack();
  // What was set on the reply goes with it.
  reply.raw.setHeader(correlationHeader, call.request.correlation);
  const wake = new Wake();
  const ring = (): void => wake.ring();
  const events = new EventStream(reply.raw, context.clock, ring);
  context.closing.addEventListener('abort', ring);
  // The reader of one that broke off comes back with the last id it saw.
  void pump(context, events, following, wake).finally(() => {
    leave();
    context.closing.removeEventListener('abort', ring);
    events.end();
  });
  return { status: 'streaming' };
}

/** Counts a stream of this client. @returns what ends it. @throws LIMIT */
export function enter({ feed, limits }: ServerContext, client: string): () => void {
  const refuse = (whose: string): never => {
    throw new CapatazError('LIMIT', `Too many event streams${whose} are open.`, {
      retry_after_ms: 5_000,
    });
  };
  if (feed.size >= limits.streams) refuse('');
  if (feed.openOf(client) >= limits.streamsPerClient) refuse(' of this client');
  return feed.enter(client);
}

/** Subscribes before the first read, so that nothing falls between stored and live. Never rejects. */
export async function pump(
  { closing, log }: ServerContext,
  sink: Sink,
  { step, subscribe }: Following,
  wake: Wake,
): Promise<'end' | 'closed' | 'broken'> {
  const unsubscribe = subscribe(wake);
  try {
    while (sink.isOpen && !closing.aborted) {
      const next = await step(sink);
      if (next === 'end') return 'end';
      if (next === 'wait') await wake.next();
    }
    return 'closed';
  } catch (error) {
    log.warn('an event stream broke off', { error });
    return 'broken';
  } finally {
    unsubscribe();
  }
}

/** `Last-Event-ID` rules over `?after=`: a reader that comes back knows better than its URL. */
export function startOf(call: Call, after: number): number {
  const last = call.request.headers['last-event-id'];
  const seen = typeof last === 'string' && /^\d{1,15}$/.test(last) ? Number(last) : undefined;
  return seen ?? after;
}
