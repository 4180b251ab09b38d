import type { SentSignal, SignalAnswer } from '../../engine/ports.ts';
import { CapatazError } from '../../protocol/errors.ts';
import type {
  AddressedSignal,
  AddressedSignalAnswer,
  SignalAnswer as SignalReply,
} from '../../protocol/signals-api.ts';
import { assert } from '../../std/assert.ts';
import type { ServerContext } from '../context.ts';
import {
  addressedSignal,
  maxSignals,
  signalAnswer,
  signalBody,
  signalsAnswer,
  signalsBody,
} from '../docs/signal-schemas.ts';
import { check } from '../parse/check.ts';
import { validationFailed } from '../parse/fields.ts';
import { idempotencyKey } from '../parse/headers.ts';
import { type Answer, type Call, jobIdOf, ok, type Route } from '../route.ts';
import { clientOf } from './client-of.ts';
import { refusalOr, refusedAnswer } from './refused.ts';

const headers = {
  'Idempotency-Key':
    'Stands for an `id` that is not given; in a batch each signal has it with its place.',
};

/** S-59. */
export function signalRoutes(context: ServerContext): Route[] {
  return [
    {
      method: 'POST',
      path: '/api/v1/jobs/{id}/signals',
      area: 'client',
      operation: {
        id: 'signalJob',
        summary: 'Tells a job that something has happened',
        params: { id: "The job's id." },
        headers,
        body: signalBody,
        answers: {
          200: { description: 'The job has taken it, or had before', body: signalAnswer },
        },
        errors: ['JOB_NOT_FOUND', 'ALREADY_FINAL', 'SIGNAL_REFUSED', 'CHANGED_MEANWHILE'],
      },
      handle: (call) => sendOne(context, call),
    },
    {
      method: 'POST',
      path: '/api/v1/signals',
      area: 'client',
      operation: {
        id: 'sendSignals',
        summary: 'Sends up to 1,000 signals, to jobs or to whoever has registered a key',
        description: 'A refused one harms none of the others.',
        headers,
        body: signalsBody,
        answers: { 200: { description: 'In the order of the request', body: signalsAnswer } },
        errors: ['CHANGED_MEANWHILE'],
      },
      handle: (call) => sendMany(context, call),
    },
  ];
}

async function sendOne(context: ServerContext, call: Call): Promise<Answer> {
  const { random, engine } = context;
  const { name, id, data } = check(signalBody, call.request.body ?? {});
  const signal = {
    ...sender(call),
    to: { jobId: jobIdOf(call.request) },
    name,
    id: id ?? idempotencyKey(call.request) ?? random.id(),
    data: data ?? null,
  };
  const [answer] = await engine.signals.send([signal]);
  assert(answer !== undefined, 'one signal must have one answer');
  if (answer.type === 'refused') throw answer.error;
  return ok({ status: 'accepted', id: signal.id } satisfies SignalReply);
}

async function sendMany({ engine, log, random }: ServerContext, call: Call): Promise<Answer> {
  const { body } = call.request;
  if (!Array.isArray(body) || body.length === 0 || body.length > maxSignals) {
    const message = `the body must be an array of 1 to ${maxSignals} signals`;
    throw validationFailed([{ path: '', message }]);
  }
  const key = idempotencyKey(call.request);
  const parsed = body.map((item: unknown, index): SentSignal | CapatazError =>
    refusalOr(() => {
      const id = key === undefined ? random.id() : `${key}#${index}`;
      return addressed(call, check(addressedSignal, item), id);
    }),
  );
  const signals = parsed.filter((item): item is SentSignal => !(item instanceof CapatazError));
  const answered = signals.length === 0 ? [] : await engine.signals.send(signals);
  const answers = new Map(signals.map((signal, index) => [signal, answered[index]]));
  const { correlation } = call.request;
  log.debug('signals came in', {
    client: clientOf(call).name,
    correlation,
    count: signals.length,
  });
  return ok(
    parsed.map((item) =>
      item instanceof CapatazError ? refusedAnswer(item) : replyTo(item, answers.get(item)),
    ),
  );
}

function sender(call: Call): Pick<SentSignal, 'client' | 'actor'> {
  const { name } = clientOf(call);
  return { client: name, actor: name };
}

function addressed(call: Call, signal: AddressedSignal, otherwiseId: string): SentSignal {
  const { job_id, key, name, id = otherwiseId, data = null, keep_for } = signal;
  return {
    ...sender(call),
    // The schema has seen to it that there is one of them.
    to: key === undefined ? { jobId: (job_id ?? '').toLowerCase() } : { key },
    name,
    id,
    data,
    ...(keep_for === undefined ? {} : { keepForMs: Math.round(keep_for * 1_000) }),
  };
}

function replyTo({ id }: SentSignal, answer: SignalAnswer | undefined): AddressedSignalAnswer {
  assert(answer !== undefined, 'each signal must have an answer');
  if (answer.type === 'refused') return refusedAnswer(answer.error);
  const status = answer.type === 'taken' ? 'accepted' : 'kept';
  return { status, id, job_ids: answer.jobIds };
}
