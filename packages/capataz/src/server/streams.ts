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

type Step = (stream: EventStream) => Promise<'more' | 'wait' | 'end'>;

/**
 * A job's book as events, what is stored first, then what comes, until its final entry was sent.
 * A job that has ended and has nothing behind `after` is answered 204, which tells an EventSource
 * not to come back.
 */
export async function streamJob(
  context: ServerContext,
  call: Call,
  { id: jobId, correlationId }: Pick<Job, 'id' | 'correlationId'>,
  after: number,
): Promise<Answer> {
  const { jobs } = context.engine;
  let position = after;
  let lastProgress = '';
  const hasMore = async (): Promise<boolean> => (await jobs.history(jobId, position, 1)).length > 0;
  // The book is looked at again behind the status: the final entry may come between the two. It
  // may also be missing (S-45), and the job still ends the stream.
  const isOver = async (): Promise<boolean> =>
    isFinal((await jobs.get(jobId, null)).status) && !(await hasMore());
  const step: Step = async (stream) => {
    const page = await jobs.history(jobId, position, pageSize);
    const text = (entry: StoredEntry): string => JSON.stringify(historyView(entry, correlationId));
    await stream.send(page.map((entry) => ({ id: entry.seq, data: text(entry) })));
    position = page.at(-1)?.seq ?? position;
    if (page.length === pageSize) return 'more';
    if (page.some(({ type }) => finalTypes.has(type))) return 'end';
    const progress = jobs.progress(jobId);
    const data = progress === null ? lastProgress : JSON.stringify(progressView(progress));
    if (data !== lastProgress) {
      lastProgress = data;
      await stream.send([{ name: 'progress', data }]);
    }
    if (page.length > 0 || !(await isOver())) return 'wait';
    return 'end';
  };
  if (!(await hasMore()) && (await isOver())) return noContent;
  return run(context, call, step, (wake) => context.feed.onJob(jobId, wake));
}

/** The books of all jobs of one client, by position, for ever. */
export function streamAll(
  context: ServerContext,
  call: Call,
  client: string,
  after: number,
): Answer {
  let position = after;
  const step: Step = async (stream) => {
    const page = await context.feed.page(position);
    const own = page.events.filter((event) => event.client === client);
    await stream.send(own.map((event, index) => positioned(event, own[index + 1])));
    const isMoved = page.position > position;
    position = page.position;
    if (isMoved && own.at(-1)?.position !== position) await stream.mark(position);
    return page.events.length > 0 ? 'more' : 'wait';
  };
  return run(context, call, step, (wake) => context.feed.onAny(wake));
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

/** Subscribes before the first read, so that nothing falls between stored and live. */
function run(
  context: ServerContext,
  call: Call,
  step: Step,
  subscribe: (wake: Wake) => () => void,
): Answer {
  const { reply } = call;
  const leave = enter(context, clientOf(call).name);
  reply.hijack();
  // What was set on the reply goes with it.
  reply.raw.setHeader(correlationHeader, call.request.correlation);
  const wake = new Wake();
  const ring = (): void => wake.ring();
  const unsubscribe = subscribe(wake);
  const stream = new EventStream(reply.raw, context.clock, ring);
  context.closing.addEventListener('abort', ring);
  void pump(context, stream, step, wake).finally(() => {
    unsubscribe();
    leave();
    context.closing.removeEventListener('abort', ring);
    stream.end();
  });
  return { status: 'streaming' };
}

/** @throws LIMIT */
function enter({ feed, limits }: ServerContext, client: string): () => void {
  const refuse = (whose: string): never => {
    throw new CapatazError('LIMIT', `Too many event streams${whose} are open.`, {
      retry_after_ms: 5_000,
    });
  };
  if (feed.size >= limits.streams) refuse('');
  if (feed.openOf(client) >= limits.streamsPerClient) refuse(' of this client');
  return feed.enter(client);
}

async function pump(
  { closing, log }: ServerContext,
  stream: EventStream,
  step: Step,
  wake: Wake,
): Promise<void> {
  try {
    while (stream.isOpen && !closing.aborted) {
      const next = await step(stream);
      if (next === 'end') return;
      if (next === 'wait') await wake.next();
    }
  } catch (error) {
    // The reader comes back with the last id it saw.
    log.warn('an event stream broke off', { error });
  }
}

/** `Last-Event-ID` rules over `?after=`: a reader that comes back knows better than its URL. */
export function startOf(call: Call, after: number): number {
  const last = call.request.headers['last-event-id'];
  const seen = typeof last === 'string' && /^\d{1,15}$/.test(last) ? Number(last) : undefined;
  return seen ?? after;
}
