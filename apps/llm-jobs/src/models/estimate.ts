import type { Attachment, ModelCall } from './contract.ts';
import type { NanoUsd } from './money.ts';
import { costOf, type Price } from './price.ts';

type Sent = Pick<ModelCall, 'instructions' | 'messages' | 'maxTokens'>;

/** What a provider adds around a message: roles and separators. */
const tokensAroundMessage = 16;
/** Providers scale images down to what this many tokens can hold. */
const mostTokensOfImage = 5_000;

/**
 * The most tokens that the input can have. No tokenizer in use makes more tokens than there are bytes
 * of UTF-8, so that the estimate holds for every model; it is about four times what English needs.
 */
export function mostInputTokens({ instructions, messages }: Omit<Sent, 'maxTokens'>): number {
  const texts = [...(instructions === undefined ? [] : [instructions]), ...messages.map(textOf)];
  const attachments = messages.flatMap((message) => message.attachments ?? []);
  return (
    texts.reduce((sum, text) => sum + Buffer.byteLength(text) + tokensAroundMessage, 0) +
    attachments.reduce((sum, attachment) => sum + mostTokensOf(attachment), 0)
  );
}

/**
 * What a call can cost at most, for a budget to reserve: all the input, each token at the dearest input
 * price, and all of `maxTokens`. Null where the price of input or output is unknown.
 */
export function highestCost(call: Sent, price: Price | null): NanoUsd | null {
  if (price === null) return null;
  const { input, output, cacheWrite } = price.perToken;
  if (input === null) return null;
  const dearest = { input: Math.max(input, cacheWrite ?? 0), output, cacheRead: 0, cacheWrite: 0 };
  const usage = {
    input: mostInputTokens(call),
    output: call.maxTokens,
    cacheRead: 0,
    cacheWrite: 0,
  };
  return costOf(usage, { ...price, perToken: dearest });
}

function textOf({ text }: { readonly text: string }): string {
  return text;
}

function mostTokensOf({ name, mediaType, content }: Attachment): number {
  if (mediaType.startsWith('image/')) return mostTokensOfImage;
  return Buffer.byteLength(name) + content.length + tokensAroundMessage;
}
