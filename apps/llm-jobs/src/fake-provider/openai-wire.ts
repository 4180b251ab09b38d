import { z } from 'zod';
import { type FakeRequest, headerOf, type Reply, textOf, type Wire } from './wire.ts';

const body = z.object({
  model: z.string(),
  max_tokens: z.int().positive().default(4_096),
  messages: z.array(z.object({ role: z.string(), content: z.unknown() })).min(1),
  stream: z.boolean().default(false),
  stream_options: z.object({ include_usage: z.boolean().default(false) }).optional(),
});

const finishReasons = { stop: 'stop', length: 'length', refusal: 'content_filter' } as const;

/** OpenAI's chat completions, which most others speak as well. */
export const openAiWire: Wire = {
  path: '/chat/completions',
  idHeader: 'x-request-id',
  read(json, headers): FakeRequest {
    const { model, max_tokens: maxTokens, messages, stream, stream_options } = body.parse(json);
    const texts = messages.map(({ content }) => textOf(content));
    return {
      wire: 'openai',
      requestId: headerOf(headers, 'x-client-request-id'),
      key: headerOf(headers, 'authorization')?.replace(/^Bearer /, '') ?? null,
      model,
      isStreamed: stream,
      wantsUsage: !stream || stream_options?.include_usage === true,
      maxTokens,
      input: texts.join('\n').trim(),
      prompt: texts.at(-1) ?? '',
    };
  },
  whole: (request, reply) => ({
    ...completion(request, reply, 'chat.completion'),
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: reply.text },
        finish_reason: finishReasons[reply.finish],
      },
    ],
    ...(reply.usageIn === 'nowhere' ? {} : { usage: usage(reply) }),
  }),
  head: (request, reply) => piece(request, reply, choice({ role: 'assistant', content: '' })),
  chunk: (request, reply, content) => piece(request, reply, choice({ content })),
  tail(request, reply) {
    const told = request.wantsUsage ? reply.usageIn : 'nowhere';
    const finish = choice({}, finishReasons[reply.finish]);
    const last = piece(request, reply, { choices: [], usage: usage(reply) });
    return [
      piece(request, reply, told === 'choice' ? { ...finish, usage: usage(reply) } : finish),
      told === 'last_chunk' ? last : '',
      'data: [DONE]\n\n',
    ].join('');
  },
  error: ({ type, message, code }) => ({ error: { message, type, code } }),
  errorEvent: ({ type, message }) => data({ error: { message, type, code: null } }),
};

function piece(request: FakeRequest, reply: Pick<Reply, 'id'>, fields: object): string {
  return data({ ...completion(request, reply, 'chat.completion.chunk'), ...fields });
}

function choice(delta: object, finish: string | null = null): object {
  return { choices: [{ index: 0, delta, finish_reason: finish }] };
}

function completion({ model }: FakeRequest, { id }: Pick<Reply, 'id'>, object: string) {
  return { id: `chatcmpl-${id}`, object, created: 1_700_000_000, model };
}

/** The prompt includes what came from the cache; what was written to it, LiteLLM tells this way. */
function usage({ usage: { input, output, cacheRead, cacheWrite }, reasoning }: Reply) {
  const prompt = input + cacheRead + cacheWrite;
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: {
      cached_tokens: cacheRead,
      ...(cacheWrite === 0 ? {} : { cache_creation_tokens: cacheWrite }),
    },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

function data(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
