import { CapatazError } from '../../protocol/errors.ts';
import {
  type HeartbeatAnswer,
  type RegistrationAnswer,
  type ResultsAnswer,
  rxonVersion,
  type WorkerEventAnswer,
} from '../../protocol/worker-api.ts';
import type { JsonValue } from '../../std/json.ts';
import type { ServerContext } from '../context.ts';
import { watchDelivery } from '../delivery.ts';
import * as schemas from '../docs/worker-schemas.ts';
import { parseHeartbeat } from '../parse/heartbeat.ts';
import { parseRegistration } from '../parse/registration.ts';
import { parseResult, parseResults } from '../parse/results.ts';
import { parseWorkerEvent } from '../parse/worker-event.ts';
import { type Answer, type Call, ok, type Route } from '../route.ts';
import { identifyWorker } from '../worker-identity.ts';
import { batchResultAnswer, batchTaskBody, resultAnswer } from '../worker-views.ts';
import { pollForTasks } from './worker-poll.ts';

const idParam = { worker_id: "The worker's id." };

/** RXON over HTTP, and our batched forms of it. */
export function workerRoutes(context: ServerContext): Route[] {
  return [...presenceRoutes(context), ...taskRoutes(context)];
}

function presenceRoutes(context: ServerContext): Route[] {
  return [
    {
      method: 'POST',
      path: '/_worker/workers/register',
      area: 'worker',
      operation: {
        id: 'registerWorker',
        summary: 'Makes a worker known, with what it offers',
        body: schemas.registrationBody,
        answers: { 200: { description: 'It is known', body: schemas.registrationAnswer } },
      },
      handle: (call) => register(context, call),
    },
    {
      method: 'PATCH',
      path: '/_worker/workers/{worker_id}',
      area: 'worker',
      operation: {
        id: 'heartbeat',
        summary: 'A sign of life; the body may be left out',
        params: idParam,
        body: schemas.heartbeatBody,
        answers: { 200: { description: 'It is noted', body: schemas.heartbeatAnswer } },
        errors: ['WORKER_NOT_FOUND'],
      },
      handle: (call) => heartbeat(context, call),
    },
    {
      method: 'POST',
      path: '/_worker/events',
      area: 'worker',
      operation: {
        id: 'workerEvent',
        summary: 'Progress of an attempt; other events are taken and change nothing',
        body: schemas.eventBody,
        answers: { 200: { description: 'It is taken', body: schemas.eventAnswer } },
        errors: ['ATTEMPT_NOT_CURRENT'],
      },
      handle: (call) => event(context, call),
    },
  ];
}

function taskRoutes(context: ServerContext): Route[] {
  return [
    {
      method: 'GET',
      path: '/_worker/workers/{worker_id}/tasks/next',
      area: 'worker',
      operation: {
        id: 'pollTasks',
        summary: 'Waits for a task, or for several in the batched form',
        params: idParam,
        query: schemas.pollQuery,
        answers: {
          200: { description: 'A task; `{"tasks":[…]}` with `max`', body: schemas.pollAnswer },
          204: { description: 'None came in time' },
        },
        errors: ['WORKER_NOT_FOUND'],
      },
      handle: (call) => pollForTasks(context, call),
    },
    {
      method: 'POST',
      path: '/_worker/tasks/result',
      area: 'worker',
      operation: {
        id: 'reportResult',
        summary: 'Reports how an attempt ended',
        body: schemas.resultBody,
        answers: { 200: { description: 'Accepted, or ignored', body: schemas.resultAnswer } },
      },
      handle: (call) => result(context, call),
    },
    {
      method: 'POST',
      path: '/_worker/tasks/results',
      area: 'worker',
      operation: {
        id: 'reportResults',
        summary: 'Reports several and takes further tasks, in one commit (batched form)',
        body: schemas.resultsBody,
        answers: {
          200: { description: 'In the order of the request', body: schemas.resultsAnswer },
        },
        errors: ['NOT_SUPPORTED', 'WORKER_NOT_FOUND'],
      },
      handle: (call) => results(context, call),
    },
  ];
}

function bodyOf({ request }: Call): JsonValue | undefined {
  // What the content-type parser made.
  return request.body as JsonValue | undefined;
}

async function register(context: ServerContext, call: Call): Promise<Answer> {
  const registration = parseRegistration(bodyOf(call));
  const worker = identifyWorker(context, call, registration.id);
  await context.engine.workers.register(registration);
  context.log.info('a worker registered', {
    worker,
    skills: registration.offer.skills,
    slots: registration.slots,
  });
  return ok({ status: 'registered', version: rxonVersion } satisfies RegistrationAnswer);
}

async function heartbeat(context: ServerContext, call: Call): Promise<Answer> {
  const body = bodyOf(call);
  const { worker: stated, beat } =
    body === undefined || body === null ? { worker: undefined, beat: {} } : parseHeartbeat(body);
  const worker = identifyWorker(context, call, stated);
  const cancelled = [...new Set(await context.engine.workers.heartbeat(worker, beat))];
  const status = body === undefined || body === null ? 'ttl_refreshed' : 'ok';
  const answer: HeartbeatAnswer =
    cancelled.length === 0 ? { status } : { status, cancel_task_ids: cancelled };
  return ok(answer);
}

async function event(context: ServerContext, call: Call): Promise<Answer> {
  const parsed = parseWorkerEvent(bodyOf(call));
  const worker = identifyWorker(context, call, parsed.worker);
  if (parsed.type === 'progress') {
    await context.engine.workers.progress(worker, parsed.jobId, parsed.progress);
  } else context.log.debug('a worker event is not used', { worker, event: parsed.name });
  return ok({ status: 'event_accepted' } satisfies WorkerEventAnswer);
}

async function result(context: ServerContext, call: Call): Promise<Answer> {
  const parsed = parseResult(bodyOf(call));
  const worker = identifyWorker(context, call, parsed.worker);
  const { answers } = await context.engine.workers.report(worker, [parsed.report], 0);
  const [answer] = answers;
  if (answer === undefined) throw new Error('the engine gave no answer to a report');
  return ok(resultAnswer(answer));
}

async function results(context: ServerContext, call: Call): Promise<Answer> {
  const parsed = parseResults(bodyOf(call), context.limits.batch);
  const { results: reported } = parsed;
  let worker = identifyWorker(context, call, reported[0]?.worker);
  for (const { worker: stated } of reported) worker = identifyWorker(context, call, stated);
  // One that is unknown was lost, and is told so of each of its attempts.
  if ((await context.engine.workers.isBatch(worker)) === false) {
    throw new CapatazError(
      'NOT_SUPPORTED',
      'This worker did not ask for the batched form: register with capabilities.extra.batch.',
    );
  }
  const reports = reported.map(({ report }) => report);
  // A stopping server takes what is done and gives out nothing new.
  const want = context.closing.aborted ? 0 : parsed.want;
  const { answers, tasks } = await context.engine.workers.report(worker, reports, want);
  if (!watchDelivery(context, call.reply.raw, worker, tasks)) {
    call.reply.hijack();
    return { status: 'streaming' };
  }
  return ok({
    results: answers.map(batchResultAnswer),
    tasks: tasks.map(batchTaskBody),
  } satisfies ResultsAnswer);
}
