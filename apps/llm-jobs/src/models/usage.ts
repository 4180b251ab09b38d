import type { LanguageModelV4Usage } from '@ai-sdk/provider';
import { type Usage, unknownUsage } from './contract.ts';

/** Anthropic counts what was read from or written to the cache beside the input. */
export function usageOfMessage({ inputTokens, outputTokens }: LanguageModelV4Usage): Usage {
  return {
    input: count(inputTokens.noCache),
    output: count(outputTokens.total),
    cacheRead: count(inputTokens.cacheRead),
    cacheWrite: count(inputTokens.cacheWrite),
  };
}

/** What the first event of Anthropic's stream tells: all but the output. */
export function usageOfMessageStart(raw: unknown): Usage {
  const usage = record(raw);
  return {
    input: count(usage.input_tokens),
    output: null,
    cacheRead: count(usage.cache_read_input_tokens ?? 0),
    cacheWrite: count(usage.cache_creation_input_tokens ?? 0),
  };
}

/**
 * OpenAI's prompt includes what was read from the cache; gateways to other models (LiteLLM, OpenRouter)
 * include what was written, too, each under a name of its own. Reasoning stands within the completion,
 * but some (Gemini, Grok) count it only into the total. The SDK's own reading knows none of that, and
 * takes a missing number for zero, so that the usage is read here as it came.
 */
export function usageOfCompletion({ raw }: LanguageModelV4Usage): Usage {
  if (raw === undefined || raw === null) return unknownUsage;
  const usage = record(raw);
  const details = record(usage.prompt_tokens_details);
  const prompt = count(usage.prompt_tokens);
  const completion = count(usage.completion_tokens);
  const cacheRead = count(details.cached_tokens ?? usage.prompt_cache_hit_tokens ?? 0);
  const cacheWrite = count(
    details.cache_write_tokens ??
      details.cache_creation_tokens ??
      usage.cache_creation_input_tokens ??
      0,
  );
  const beyondPrompt = (count(usage.total_tokens) ?? 0) - (prompt ?? 0);
  return {
    input: count((prompt ?? Number.NaN) - (cacheRead ?? 0) - (cacheWrite ?? 0)),
    output: completion === null ? null : Math.max(completion, beyondPrompt),
    cacheRead,
    cacheWrite,
  };
}

function count(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
