import type { StoredEntry } from '../../core/history.ts';
import type { Job } from '../../core/job.ts';
import type { ServerContext } from '../context.ts';
import {
  cancelBody,
  dismissBody,
  historyAnswer,
  historyQuery,
  jobsAnswer,
  jobsQuery,
  jobView as jobViewSchema,
  noQuery,
  streamQuery,
  whyView,
} from '../docs/client-schemas.ts';
import { readPage } from '../page.ts';
import { attributesIn } from '../parse/attributes.ts';
import { check } from '../parse/check.ts';
import { type Answer, type Call, jobIdOf, ok, type Route } from '../route.ts';
import { startOf, streamAll, streamJob } from '../streams.ts';
import { historyView, jobView } from '../views.ts';
import { clientOf } from './client-of.ts';

const idParam = { id: "The job's id." };
const eventStream = {
  200: { description: 'Events, until the connection closes', types: ['text/event-stream'] },
};
const jobAnswer = { 200: { description: 'The job as it stands now', body: jobViewSchema } };

/** Reading jobs, and steering them. A foreign job and an unknown one look the same. */
export function jobRoutes(context: ServerContext): Route[] {
  return [...readingRoutes(context), ...streamRoutes(context), ...steeringRoutes(context)];
}

function readingRoutes(context: ServerContext): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/jobs',
      area: 'client',
      operation: {
        id: 'listJobs',
        summary: 'Jobs of this client, newest first',
        description:
          '`attr.<name>=<value>` keeps the jobs whose attribute has this value: JSON where it is that, else text. Several must all be met.',
        query: jobsQuery,
        answers: { 200: { description: 'One page', body: jobsAnswer } },
      },
      handle: (call) => listJobs(context, call),
    },
    {
      method: 'GET',
      path: '/api/v1/jobs/{id}',
      area: 'client',
      operation: {
        id: 'getJob',
        summary: 'A job',
        params: idParam,
        query: noQuery,
        answers: jobAnswer,
        errors: ['JOB_NOT_FOUND'],
      },
      handle: async (call) => {
        check(noQuery, call.request.query);
        return ok(jobView(await ownJob(context, call), context.engine.jobs));
      },
    },
    {
      method: 'GET',
      path: '/api/v1/jobs/{id}/history',
      area: 'client',
      operation: {
        id: 'getHistory',
        summary: "A job's book",
        params: idParam,
        query: historyQuery,
        answers: { 200: { description: 'One page, oldest first', body: historyAnswer } },
        errors: ['JOB_NOT_FOUND'],
      },
      handle: (call) => history(context, call),
    },
    {
      method: 'GET',
      path: '/api/v1/jobs/{id}/why',
      area: 'client',
      operation: {
        id: 'whyJob',
        summary: 'Why a job is where it is',
        params: idParam,
        answers: { 200: { description: 'In words and by worker', body: whyView } },
        errors: ['JOB_NOT_FOUND'],
      },
      handle: async (call) => {
        const { id } = await ownJob(context, call);
        return ok(await context.engine.jobs.why(id));
      },
    },
  ];
}

function streamRoutes(context: ServerContext): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/jobs/{id}/events',
      area: 'client',
      operation: {
        id: 'watchJob',
        summary: "A job's book, live",
        description:
          'Server-sent events: each entry with its sequence as id, and `progress` without one. What is stored comes first. Ends after the final entry.',
        params: idParam,
        query: streamQuery,
        headers: { 'Last-Event-ID': 'Goes on behind this sequence.' },
        answers: {
          ...eventStream,
          204: { description: 'The job has ended and there is nothing behind `after`' },
        },
        errors: ['JOB_NOT_FOUND', 'LIMIT'],
      },
      handle: async (call) => {
        const { after } = check(streamQuery, call.request.query);
        const job = await ownJob(context, call);
        return streamJob(context, call, job, startOf(call, after));
      },
    },
    {
      method: 'GET',
      path: '/api/v1/events',
      area: 'client',
      operation: {
        id: 'watchAll',
        summary: 'The books of all jobs of this client, live',
        description:
          'Server-sent events with the position as id. Position 0, the default, is the beginning.',
        query: streamQuery,
        headers: { 'Last-Event-ID': 'Goes on behind this position.' },
        answers: eventStream,
        errors: ['LIMIT'],
      },
      handle: (call) => {
        const { after } = check(streamQuery, call.request.query);
        return streamAll(context, call, clientOf(call).name, startOf(call, after));
      },
    },
  ];
}

function steeringRoutes(context: ServerContext): Route[] {
  const { jobs } = context.engine;
  return [
    {
      method: 'POST',
      path: '/api/v1/jobs/{id}/cancel',
      area: 'client',
      operation: {
        id: 'cancelJob',
        summary: 'Ends a job as `cancelled`',
        params: idParam,
        body: cancelBody,
        answers: jobAnswer,
        errors: ['JOB_NOT_FOUND', 'ALREADY_FINAL', 'CHANGED_MEANWHILE'],
      },
      handle: (call) =>
        steer(context, call, (id, actor) => {
          const { reason } = check(cancelBody, call.request.body ?? {});
          return jobs.cancel(id, actor, reason ?? 'cancelled by the client');
        }),
    },
    dismissRoute(context),
    steeringRoute(context, 'redrive', 'Lets a quarantined job go on', (id, actor) =>
      jobs.redrive(id, actor),
    ),
    steeringRoute(context, 'hold', 'Lets no handler and no task of it begin', (id, actor) =>
      jobs.hold(id, actor),
    ),
    steeringRoute(context, 'release', 'Ends a hold', (id, actor) => jobs.release(id, actor)),
  ];
}

function dismissRoute(context: ServerContext): Route {
  return {
    method: 'POST',
    path: '/api/v1/jobs/{id}/dismiss',
    area: 'client',
    operation: {
      id: 'dismissJob',
      summary: 'Gives a quarantined job up: it ends as `failed`, with the error that parked it',
      params: idParam,
      body: dismissBody,
      answers: jobAnswer,
      errors: ['JOB_NOT_FOUND', 'ALREADY_FINAL', 'NOT_QUARANTINED', 'CHANGED_MEANWHILE'],
    },
    handle: (call) =>
      steer(context, call, (id, actor) => {
        const { reason } = check(dismissBody, call.request.body ?? {});
        return context.engine.jobs.dismiss(id, actor, reason ?? 'dismissed by the client');
      }),
  };
}

type Steer = (id: string, actor: string) => Promise<Job>;

function steeringRoute(
  context: ServerContext,
  verb: 'redrive' | 'hold' | 'release',
  summary: string,
  act: Steer,
): Route {
  return {
    method: 'POST',
    path: `/api/v1/jobs/{id}/${verb}`,
    area: 'client',
    operation: {
      id: `${verb}Job`,
      summary,
      params: idParam,
      answers: jobAnswer,
      errors: [
        'JOB_NOT_FOUND',
        'ALREADY_FINAL',
        'WRONG_STATUS',
        'CHANGED_MEANWHILE',
        ...(verb === 'redrive' ? (['NOT_QUARANTINED'] as const) : []),
      ],
    },
    handle: (call) => steer(context, call, act),
  };
}

/** The job, if it is this client's. @throws JOB_NOT_FOUND */
function ownJob({ engine }: ServerContext, call: Call): Promise<Job> {
  return engine.jobs.get(jobIdOf(call.request), clientOf(call).name);
}

async function steer(context: ServerContext, call: Call, act: Steer): Promise<Answer> {
  const { id, correlationId } = await ownJob(context, call);
  const client = clientOf(call).name;
  const job = await act(id, client);
  context.log.info('a client steered a job', {
    job: id,
    correlation: correlationId,
    client,
    route: call.request.routeOptions.url,
    status: job.status,
  });
  return ok(jobView(job, context.engine.jobs));
}

async function listJobs({ engine }: ServerContext, call: Call): Promise<Answer> {
  const { attributes, rest } = attributesIn(call.request.query);
  const { limit, status, blueprint, state, correlation_id, before } = check(jobsQuery, rest);
  const matching = {
    client: clientOf(call).name,
    ...(status === undefined ? {} : { status }),
    ...(blueprint === undefined ? {} : { blueprint }),
    ...(state === undefined ? {} : { state }),
    ...(correlation_id === undefined ? {} : { correlationId: correlation_id }),
    ...(attributes === undefined ? {} : { attributes }),
  };
  const { items, hasMore } = await readPage<Job>({
    limit,
    read: (last, count) => {
      const below = last?.id ?? before;
      const from = below === undefined ? {} : { before: below };
      return engine.jobs.list({ ...matching, ...from, limit: count });
    },
  });
  return ok({
    jobs: items.map((job) => jobView(job, engine.jobs)),
    next: hasMore ? (items.at(-1)?.id ?? null) : null,
  });
}

async function history(context: ServerContext, call: Call): Promise<Answer> {
  const { after, limit } = check(historyQuery, call.request.query);
  const { id, correlationId } = await ownJob(context, call);
  const { items, hasMore } = await readPage<StoredEntry>({
    limit,
    read: (last, count) => context.engine.jobs.history(id, last?.seq ?? after, count),
  });
  return ok({
    history: items.map((entry) => historyView(entry, correlationId)),
    next: hasMore ? (items.at(-1)?.seq ?? null) : null,
  });
}
