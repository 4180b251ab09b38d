import { z } from 'zod';
import { type FakeRequest, headerOf, type Reply, textOf, type Wire } from './wire.ts';

const body = z.object({
  model: z.string(),
  max_tokens: z.int().positive(),
  system: z.unknown().optional(),
  messages: z.array(z.object({ role: z.string(), content: z.unknown() })).min(1),
  stream: z.boolean().default(false),
});

const stopReasons = { stop: 'end_turn', length: 'max_tokens', refusal: 'refusal' } as const;

/** Anthropic's Messages. */
export const anthropicWire: Wire = {
  path: '/messages',
  idHeader: 'request-id',
  read(json, headers): FakeRequest {
    const { model, max_tokens: maxTokens, system, messages, stream } = body.parse(json);
    const texts = messages.map(({ content }) => textOf(content));
    return {
      wire: 'anthropic',
      requestId: headerOf(headers, 'x-client-request-id'),
      key: headerOf(headers, 'x-api-key'),
      model,
      isStreamed: stream,
      wantsUsage: true,
      maxTokens,
      input: [textOf(system), ...texts].join('\n').trim(),
      prompt: texts.at(-1) ?? '',
    };
  },
  whole: (request, reply) => ({
    ...message(request, reply),
    content: [{ type: 'text', text: reply.text }],
    stop_reason: stopReasons[reply.finish],
    usage: { ...inputUsage(reply), output_tokens: reply.usage.output },
  }),
  head: (request, reply) =>
    event('message_start', {
      message: {
        ...message(request, reply),
        content: [],
        stop_reason: null,
        usage: { ...inputUsage(reply), output_tokens: 1 },
      },
    }) +
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
    event('ping', {}),
  chunk: (_request, _reply, text) =>
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  tail: (_request, reply) =>
    event('content_block_stop', { index: 0 }) +
    event('message_delta', {
      delta: { stop_reason: stopReasons[reply.finish], stop_sequence: null },
      usage: { output_tokens: reply.usage.output },
    }) +
    event('message_stop', {}),
  error: ({ type, message }) => ({ type: 'error', error: { type, message } }),
  errorEvent: ({ type, message }) => event('error', { error: { type, message } }),
};

function message({ model }: FakeRequest, { id }: Pick<Reply, 'id'>) {
  return { id: `msg_${id}`, type: 'message', role: 'assistant', model, stop_sequence: null };
}

function inputUsage({ usage }: Pick<Reply, 'usage'>) {
  return {
    input_tokens: usage.input,
    cache_read_input_tokens: usage.cacheRead,
    cache_creation_input_tokens: usage.cacheWrite,
  };
}

function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}
