import { CapatazError } from 'capataz';
import type { Client } from 'capataz/client';
import { type Call, check, clientOf, ok, param, type Route } from 'capataz/server';
import { z } from 'zod';
import { auditRecordSchema } from './books/audit-record.ts';
import { type Books, groupings } from './books/books.ts';
import { totalsView } from './books/formats.ts';
import { jobIdFor, newJobId } from './domain/job-id.ts';
import { jobInput } from './job/input.ts';
import { blueprintName } from './job/names.ts';
import { recordInView, seedView } from './job/view.ts';

const mostRecords = 1_000;
const filter = z.object({
  status: z.enum(['Completed', 'Failed']).optional(),
  skill: z.string().optional(),
  tier: z.string().optional(),
  batch: z.string().optional(),
  since: z.iso.date().or(z.iso.datetime()).optional(),
  until: z.iso.date().or(z.iso.datetime()).optional(),
});
const query = filter.extend({ limit: z.coerce.number().int().min(1).max(mostRecords).optional() });
const totalsQuery = filter.extend({ by: z.enum(groupings).optional() });
const params = { id: "The job's id." };

interface RouteParts {
  readonly books: Books;
  readonly client: (name: string) => Client;
}

/** Jobs as the seed has them, and the books. Clients see what is theirs. */
export function llmRoutes({ books, client }: RouteParts): Route[] {
  const own = (call: Call): Client => client(clientOf(call).name);
  return [
    {
      method: 'POST',
      path: '/llm/jobs',
      area: 'client',
      operation: {
        id: 'startLlmJob',
        summary: 'Start a job for a language model; it has a UUIDv4',
        body: jobInput,
        headers: { 'Idempotency-Key': 'The same key and body start one job.' },
        answers: { 202: { description: 'Stored', body: z.object({ job_id: z.uuid() }) } },
        errors: ['VALIDATION_FAILED', 'IDEMPOTENCY_CONFLICT'],
      },
      handle: async (call) => {
        const input = check(jobInput, call.request.body);
        const key = call.request.headers['idempotency-key'];
        const options =
          typeof key === 'string'
            ? // The id is part of what must be the same.
              { idempotencyKey: key, jobId: jobIdFor(clientOf(call).name, key) }
            : { jobId: newJobId() };
        const { jobId } = await own(call).jobs.start(blueprintName, input, options);
        return { status: 202, json: { job_id: jobId } };
      },
    },
    {
      method: 'GET',
      path: '/llm/jobs/{id}',
      area: 'client',
      operation: {
        id: 'getLlmJob',
        summary: 'A job as it stands',
        params,
        answers: { 200: { description: 'The job', body: z.looseObject({ id: z.uuid() }) } },
        errors: ['JOB_NOT_FOUND'],
      },
      handle: async (call) => {
        const view = await own(call).jobs.get(param(call.request, 'id'));
        if (view.blueprint !== blueprintName) throw notFound();
        return ok(seedView(recordInView(view)));
      },
    },
    ...bookRoutes(books),
  ];
}

function bookRoutes(books: Books): Route[] {
  return [
    {
      method: 'GET',
      path: '/llm/audit',
      area: 'client',
      operation: {
        id: 'listAuditRecords',
        summary: 'Audit records of jobs that have ended, in that order',
        query,
        answers: {
          200: {
            description: 'The records',
            body: z.object({ records: z.array(auditRecordSchema) }),
          },
        },
        errors: ['VALIDATION_FAILED'],
      },
      handle: (call) => {
        const { limit = 100, ...wanted } = check(query, call.request.query);
        const { name } = clientOf(call);
        return ok({ records: [...books.records({ ...wanted, client: name }, limit)] });
      },
    },
    {
      method: 'GET',
      path: '/llm/audit/{id}',
      area: 'client',
      operation: {
        id: 'getAuditRecord',
        summary: 'The audit record of a job that has ended',
        params,
        answers: { 200: { description: 'The record', body: auditRecordSchema } },
        errors: ['JOB_NOT_FOUND'],
      },
      handle: (call) => {
        const record = books.record(param(call.request, 'id'));
        if (record === null || record.extra.client !== clientOf(call).name) throw notFound();
        return ok(record);
      },
    },
    {
      method: 'GET',
      path: '/llm/totals',
      area: 'client',
      operation: {
        id: 'getTotals',
        summary: 'Cost, success rate and retries of jobs that have ended',
        query: totalsQuery,
        answers: { 200: { description: 'A row a group', body: z.looseObject({}) } },
        errors: ['VALIDATION_FAILED'],
      },
      handle: (call) => {
        const { by, ...wanted } = check(totalsQuery, call.request.query);
        const totals = books.totals({ ...wanted, client: clientOf(call).name }, by);
        return ok({ totals: totals.map(totalsView) });
      },
    },
  ];
}

function notFound(): CapatazError {
  return new CapatazError('JOB_NOT_FOUND', 'There is no such job among the jobs of this client.');
}
