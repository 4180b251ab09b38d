import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import type { Clock } from 'capataz/server';
import type { Catalog, Provider } from './catalog.ts';
import {
  isKnown,
  type ModelAnswer,
  type ModelCall,
  ModelError,
  type ModelPort,
  noUsage,
  type Usage,
  unknownUsage,
} from './contract.ts';
import { failureOf, requestIdOf } from './failure.ts';
import { callOptions, languageModel } from './language-model.ts';
import { createTransport, type Transport } from './transport.ts';
import { usageOfCompletion, usageOfMessage, usageOfMessageStart } from './usage.ts';

export interface ProviderModelsOptions {
  readonly catalog: Pick<Catalog, 'providers'>;
  /** The keys, by the names that the catalog gives them. */
  readonly keys: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** How long connecting may take, ms. Default 10,000. */
  readonly connectTimeoutMs?: number;
  /** How long a call may take in all, to the last token, ms. Default 120,000. */
  readonly totalTimeoutMs?: number;
}

const defaultConnectTimeoutMs = 10_000;
const defaultTotalTimeoutMs = 120_000;

/** What has come of an answer so far. */
interface Receipt {
  text: string;
  usage: Usage;
  providerRequestId: string | null;
  finish: LanguageModelV4FinishReason | null;
}

/** Asks the providers of a catalog, each over its own wire. */
export class ProviderModels implements ModelPort, AsyncDisposable {
  readonly #options: ProviderModelsOptions;
  readonly #transport: Transport;

  constructor(options: ProviderModelsOptions) {
    this.#options = options;
    this.#transport = createTransport(options.connectTimeoutMs ?? defaultConnectTimeoutMs);
  }

  async call(call: ModelCall): Promise<ModelAnswer> {
    const { clock } = this.#options;
    const { provider, key } = this.#providerOf(call);
    const limit = limited(
      call.signal,
      clock,
      this.#options.totalTimeoutMs ?? defaultTotalTimeoutMs,
    );
    const receipt = emptyReceipt();
    try {
      const question: Question = {
        model: languageModel(provider, { call, key, fetch: this.#transport.fetch }),
        options: callOptions(call, limit.signal),
        readUsage: provider.api === 'anthropic' ? usageOfMessage : usageOfCompletion,
      };
      if (call.onDelta === undefined) await generate(question, receipt);
      else await stream(question, receipt, call.onDelta);
      return answerOf(receipt, call);
    } catch (error) {
      const { text, usage, providerRequestId } = receipt;
      const around = { text, usage, providerRequestId };
      const failure = failureOf(error, {
        provider: call.provider,
        key,
        now: clock.now(),
        ...around,
      });
      throw limit.reason() === null ? failure : new ModelError(...ended(limit, call), around);
    } finally {
      limit.release();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#transport[Symbol.asyncDispose]();
  }

  #providerOf({ provider: name, signal }: ModelCall): { provider: Provider; key: string | null } {
    const unsent = { wasSent: false, usage: noUsage };
    if (signal?.aborted) throw new ModelError('cancelled', `${name}: cancelled`, unsent);
    const provider = this.#options.catalog.providers.get(name);
    if (provider === undefined) {
      throw new ModelError('rejected', `${name}: no such provider is configured`, unsent);
    }
    const key = keyOf(provider, this.#options.keys);
    if (key === undefined) {
      throw new ModelError('rejected', `${name}: no key is configured (${provider.key})`, unsent);
    }
    return { provider, key };
  }
}

/** Null: it needs none. Undefined: it needs one that nobody gave. */
export function keyOf(
  { key }: Provider,
  keys: ProviderModelsOptions['keys'],
): string | null | undefined {
  if (key === null) return null;
  return keys[key] === '' ? undefined : keys[key];
}

interface Question {
  readonly model: LanguageModelV4;
  readonly options: LanguageModelV4CallOptions;
  readonly readUsage: (usage: LanguageModelV4Usage) => Usage;
}

async function generate({ model, options, readUsage }: Question, receipt: Receipt): Promise<void> {
  const result = await model.doGenerate(options);
  receipt.providerRequestId = requestIdOf(result.response?.headers);
  receipt.text = result.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  receipt.usage = readUsage(result.usage);
  receipt.finish = result.finishReason;
}

/** An error within the stream does not end the reading: what was counted may come behind it. */
async function stream(
  { model, options, readUsage }: Question,
  receipt: Receipt,
  onDelta: (text: string) => void,
): Promise<void> {
  const result = await model.doStream(options);
  receipt.providerRequestId = requestIdOf(result.response?.headers);
  let failure: { readonly error: unknown } | null = null;
  for await (const part of result.stream) {
    if (part.type === 'text-delta') {
      receipt.text += part.delta;
      onDelta(part.delta);
    } else if (part.type === 'custom' && part.kind === 'anthropic.message_start') {
      receipt.usage = usageOfMessageStart(part.providerMetadata?.anthropic?.usage);
    } else if (part.type === 'error') {
      failure ??= { error: part.error };
    } else if (part.type === 'finish') {
      const usage = readUsage(part.usage);
      // The SDK also reports as finished what it had to give up: then without the provider's reason.
      const isWhole = part.finishReason.raw !== undefined;
      if (isWhole) receipt.finish = part.finishReason;
      if (isWhole || isKnown(usage)) receipt.usage = usage;
    }
  }
  if (failure !== null) throw failure.error;
}

function answerOf(receipt: Receipt, { provider, maxTokens }: ModelCall): ModelAnswer {
  const { finish, text, usage, providerRequestId } = receipt;
  const details = { text, usage, providerRequestId };
  switch (finish?.unified) {
    case 'stop':
      return { ...details, isStub: false };
    case 'length':
      throw new ModelError('truncated', `${provider}: truncated at ${maxTokens} tokens`, details);
    case 'content-filter':
      throw new ModelError('refused', `${provider}: declined the content`, details);
    case undefined:
      throw new ModelError('cut', `${provider}: the stream ended before the answer did`, details);
    default:
      throw new ModelError(
        'malformed',
        `${provider}: ended for an unknown reason: ${finish?.raw ?? 'none given'}`,
        details,
      );
  }
}

function emptyReceipt(): Receipt {
  return { text: '', usage: unknownUsage, providerRequestId: null, finish: null };
}

interface Limit {
  readonly signal: AbortSignal;
  /** Why the call was ended from here; null if it was not. */
  readonly reason: () => 'timeout' | 'cancelled' | null;
  readonly timeoutMs: number;
  readonly release: () => void;
}

/** Ends a call with the caller's signal, or after its time. */
function limited(outer: AbortSignal | undefined, clock: Clock, timeoutMs: number): Limit {
  const controller = new AbortController();
  let reason: ReturnType<Limit['reason']> = null;
  const end = (why: 'timeout' | 'cancelled') => () => {
    reason ??= why;
    controller.abort();
  };
  const cancelTimer = clock.after(timeoutMs, end('timeout'));
  const onAbort = end('cancelled');
  outer?.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    reason: () => reason,
    timeoutMs,
    release() {
      cancelTimer();
      outer?.removeEventListener('abort', onAbort);
    },
  };
}

function ended(limit: Limit, { provider }: ModelCall): ['timeout' | 'cancelled', string] {
  return limit.reason() === 'timeout'
    ? ['timeout', `${provider}: no complete answer within ${limit.timeoutMs / 1_000} s`]
    : ['cancelled', `${provider}: cancelled`];
}
