import type {
  DeadLettersAnswer,
  DeadLetterView,
  SettledLettersAnswer,
} from '../../protocol/dead-letters-api.ts';
import { CapatazError } from '../../protocol/errors.ts';
import type { DeadLetter, LetterPlace } from '../../store/contract.ts';
import type { ServerContext } from '../context.ts';
import {
  deadLetterView as deadLetterSchema,
  deadLettersAnswer,
  deadLettersQuery,
  redriveLettersBody,
  resolveLettersBody,
  settledLettersAnswer,
} from '../docs/dead-letter-schemas.ts';
import { readPage } from '../page.ts';
import { check } from '../parse/check.ts';
import { validationFailed } from '../parse/fields.ts';
import { type Answer, type Call, ok, param, type Route } from '../route.ts';
import { instant } from '../views.ts';
import { clientOf } from './client-of.ts';

/** Events of a client's jobs that no bus would take (H-41). */
export function deadLetterRoutes(context: ServerContext): Route[] {
  return [listRoute(context), showRoute(context), redriveRoute(context), resolveRoute(context)];
}

function listRoute(context: ServerContext): Route {
  return {
    method: 'GET',
    path: '/api/v1/dead-letters',
    area: 'client',
    operation: {
      id: 'listDeadLetters',
      summary: 'Events of this client’s jobs that were given up after their last try, oldest first',
      query: deadLettersQuery,
      answers: { 200: { description: 'One page', body: deadLettersAnswer } },
    },
    handle: (call) => list(context, call),
  };
}

function showRoute({ engine }: ServerContext): Route {
  return {
    method: 'GET',
    path: '/api/v1/dead-letters/{id}',
    area: 'client',
    operation: {
      id: 'getDeadLetter',
      summary: 'One dead letter, resolved or not',
      params: { id: 'Of the event.' },
      answers: { 200: { description: 'The letter', body: deadLetterSchema } },
      errors: ['DEAD_LETTER_NOT_FOUND'],
    },
    handle: async (call) => {
      const id = param(call.request, 'id');
      const client = clientOf(call).name;
      const query = { ids: [id], client, resolvedToo: true, limit: 1 };
      const [letter] = await engine.deadLetters.list(query);
      if (letter !== undefined) return ok(deadLetterView(letter));
      throw new CapatazError('DEAD_LETTER_NOT_FOUND', `there is no dead letter ${id}`);
    },
  };
}

function redriveRoute({ engine, log }: ServerContext): Route {
  return {
    method: 'POST',
    path: '/api/v1/dead-letters/redrive',
    area: 'client',
    operation: {
      id: 'redriveDeadLetters',
      summary: 'Sends events to the bus again, their tries counted anew',
      body: redriveLettersBody,
      answers: { 200: { description: 'They are on their way', body: settledLettersAnswer } },
    },
    handle: async (call) => {
      const wanted = check(redriveLettersBody, call.request.body ?? {});
      const client = clientOf(call).name;
      const ids = await engine.deadLetters.redrive(wanted.ids, client);
      log.info('a client redrives dead letters', { client, count: ids.length });
      return ok({ ids } satisfies SettledLettersAnswer);
    },
  };
}

function resolveRoute({ engine, log }: ServerContext): Route {
  return {
    method: 'POST',
    path: '/api/v1/dead-letters/resolve',
    area: 'client',
    operation: {
      id: 'resolveDeadLetters',
      summary: 'Marks events as done with; they stay to be seen',
      body: resolveLettersBody,
      answers: { 200: { description: 'They are resolved', body: settledLettersAnswer } },
    },
    handle: async (call) => {
      const { ids: wanted, notes = '' } = check(resolveLettersBody, call.request.body ?? {});
      const client = clientOf(call).name;
      const ids = await engine.deadLetters.resolve(wanted, { client, notes });
      log.info('a client resolved dead letters', { client, count: ids.length });
      return ok({ ids } satisfies SettledLettersAnswer);
    },
  };
}

async function list({ engine }: ServerContext, call: Call): Promise<Answer> {
  const { limit, after, name, job_id, resolved } = check(deadLettersQuery, call.request.query);
  const begin = after === undefined ? undefined : placeOf(after);
  const wanted = {
    client: clientOf(call).name,
    resolvedToo: resolved === 'true',
    ...(name === undefined ? {} : { name }),
    ...(job_id === undefined ? {} : { jobId: job_id.toLowerCase() }),
  };
  const { items, hasMore } = await readPage<DeadLetter>({
    limit,
    read: (last, count) => {
      const behind = last ?? begin;
      const from = behind === undefined ? {} : { after: behind };
      return engine.deadLetters.list({ ...wanted, ...from, limit: count });
    },
  });
  return ok({
    dead_letters: items.map(deadLetterView),
    next: hasMore ? nextOf(items.at(-1)) : null,
  } satisfies DeadLettersAnswer);
}

/** Letters go while they are listed, so that a page ends at a place and not at a letter. */
function nextOf(last: DeadLetter | undefined): string | null {
  return last === undefined ? null : `${last.movedAt}_${last.id}`;
}

/** @throws VALIDATION_FAILED */
function placeOf(text: string): LetterPlace {
  const [, movedAt, id] = /^(\d{1,16})_(.+)$/.exec(text) ?? [];
  if (movedAt !== undefined && id !== undefined) return { movedAt: Number(movedAt), id };
  throw validationFailed([{ path: 'after', message: 'must be `next` of the page before' }]);
}

function deadLetterView(letter: DeadLetter): DeadLetterView {
  return {
    id: letter.id,
    job_id: letter.jobId,
    correlation_id: letter.correlationId,
    exchange: letter.exchange,
    name: letter.name,
    payload: letter.payload,
    sequence: letter.sequence,
    tries: letter.retryCount,
    error: letter.lastError ?? '',
    created_at: instant(letter.createdAt),
    moved_at: instant(letter.movedAt),
    resolved_at: letter.resolvedAt === null ? null : instant(letter.resolvedAt),
    resolved_by: letter.resolvedBy,
    notes: letter.notes,
  };
}
