import type { Task } from '../../core/job.ts';
import type { ServerContext } from '../context.ts';
import { watchDelivery } from '../delivery.ts';
import { parsePoll } from '../parse/poll.ts';
import { type Answer, type Call, noContent, ok } from '../route.ts';
import { identifyWorker } from '../worker-identity.ts';
import { batchTaskBody, taskBody } from '../worker-views.ts';

/** One task for an RXON worker, up to `max` for one that asked for the batched form. */
export async function pollForTasks(context: ServerContext, call: Call): Promise<Answer> {
  const worker = identifyWorker(context, call, undefined);
  // Fastify's parser makes one flat object of a query.
  const query = call.request.query as Readonly<Record<string, unknown>>;
  const { max, timeoutMs } = parsePoll(query, context.limits);
  const isBatch = max !== undefined && (await context.engine.workers.isBatch(worker)) === true;
  if (context.closing.aborted) return noContent;
  const tasks = await waitForTasks(context, call, worker, { max: isBatch ? max : 1, timeoutMs });
  if (tasks.length === 0) return call.reply.raw.destroyed ? gone(call) : noContent;
  if (!watchDelivery(context, call.reply.raw, worker, tasks)) return gone(call);
  logHandOut(context, worker, tasks);
  const [first] = tasks;
  if (first !== undefined && !isBatch) {
    // The body has it, too; several tasks have several.
    if (first.spec.trace !== null) call.reply.header('traceparent', first.spec.trace);
    return ok(taskBody(first));
  }
  return ok({ tasks: tasks.map(batchTaskBody) });
}

/** The wait ends at once when the connection closes or the server begins to. */
async function waitForTasks(
  { engine, closing }: ServerContext,
  { reply }: Call,
  worker: string,
  options: { readonly max: number; readonly timeoutMs: number },
): Promise<readonly Task[]> {
  const given = new AbortController();
  const giveUp = (): void => given.abort();
  reply.raw.once('close', giveUp);
  closing.addEventListener('abort', giveUp);
  if (reply.raw.destroyed || closing.aborted) giveUp();
  try {
    return await engine.workers.poll(worker, { ...options, signal: given.signal });
  } finally {
    reply.raw.off('close', giveUp);
    closing.removeEventListener('abort', giveUp);
  }
}

function gone({ reply }: Call): Answer {
  reply.hijack();
  return { status: 'streaming' };
}

function logHandOut({ log }: ServerContext, worker: string, tasks: readonly Task[]): void {
  for (const { jobId, id, attempt, spec } of tasks) {
    log.debug('a task is handed out', {
      job: jobId,
      task: id,
      attempt: attempt?.id ?? '',
      worker,
      correlation: spec.correlationId,
      skill: spec.skill,
    });
  }
}
