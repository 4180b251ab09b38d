import { type CountedTokens, noTokens } from './meter.ts';
import type { Behaviour } from './script.ts';
import { cutToTokens, tokensOf } from './tokens.ts';
import type { FakeRequest, Reply } from './wire.ts';

type Answer = Extract<Behaviour, { kind: 'answer' }>;

/** What a request is answered, unless something goes wrong on the way. */
export function replyTo(request: FakeRequest, given: Behaviour, id: string): Reply {
  const answer: Partial<Answer> = given.kind === 'answer' ? given : {};
  const whole = answer.text ?? defaultText(request);
  const text = cutToTokens(whole, request.maxTokens);
  const { reasoning = 0, ...usage } = answer.usage ?? {};
  return {
    id,
    text,
    finish: text === whole ? (answer.finish ?? 'stop') : 'length',
    usage: {
      input: usage.input ?? tokensOf(request.input),
      output: usage.output ?? tokensOf(text) + reasoning,
      cacheRead: usage.cacheRead ?? 0,
      cacheWrite: usage.cacheWrite ?? 0,
    },
    reasoning,
    usageIn: answer.usageIn ?? 'last_chunk',
  };
}

/** What the meter counts. Nobody charges for a 529 that came in place of an answer. */
export function countedTokens(request: FakeRequest, given: Behaviour, reply: Reply): CountedTokens {
  const isRefusal = given.kind === 'overloaded' && !request.isStreamed;
  return given.isCounted && !isRefusal ? reply.usage : noTokens;
}

function defaultText({ prompt }: FakeRequest): string {
  return `Done, as it was asked for: ${prompt.replaceAll(/\s+/g, ' ').trim().slice(0, 120)}`;
}
