import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4TextPart,
} from '@ai-sdk/provider';
import type { Provider } from './catalog.ts';
import type { Attachment, Message, ModelCall } from './contract.ts';
import type { Transport } from './transport.ts';

/** The header with our own id of a request. OpenAI documents it; others pass over what they don't know. */
export const requestIdHeader = 'x-client-request-id';

/**
 * The SDK's model of a provider. Its lower layer is used, which makes one request a call: what stands
 * above it (`generateText`) repeats, and hides what was counted when a stream breaks.
 */
export function languageModel(
  { api, baseUrl }: Provider,
  { call, key, fetch }: { call: ModelCall; key: string | null } & Pick<Transport, 'fetch'>,
): LanguageModelV4 {
  if (api === 'anthropic') {
    // Without a key given, the SDK would look for one in the environment.
    const anthropic = { apiKey: key ?? 'none', fetch };
    return createAnthropic(baseUrl === null ? anthropic : { ...anthropic, baseURL: baseUrl })(
      call.model,
    );
  }
  return createOpenAICompatible({
    name: call.provider,
    baseURL: baseUrl ?? '',
    fetch,
    includeUsage: true,
    ...(key === null ? {} : { apiKey: key }),
  })(call.model);
}

export function callOptions(call: ModelCall, abortSignal: AbortSignal): LanguageModelV4CallOptions {
  const instructions: LanguageModelV4Message[] =
    call.instructions === undefined ? [] : [{ role: 'system', content: call.instructions }];
  return {
    prompt: [...instructions, ...call.messages.map(promptMessage)],
    maxOutputTokens: call.maxTokens,
    headers: { [requestIdHeader]: call.requestId },
    abortSignal,
  };
}

function promptMessage({ role, text, attachments = [] }: Message): LanguageModelV4Message {
  if (role === 'assistant') return { role, content: [{ type: 'text', text }] };
  return { role, content: [...attachments.map(attachmentPart), { type: 'text', text }] };
}

function attachmentPart(attachment: Attachment): LanguageModelV4TextPart | LanguageModelV4FilePart {
  const { name, mediaType, content } = attachment;
  if (mediaType.startsWith('image/')) {
    return { type: 'file', filename: name, mediaType, data: { type: 'data', data: content } };
  }
  const text = new TextDecoder().decode(content);
  return {
    type: 'text',
    text: `<attachment name=${JSON.stringify(name)}>\n${text}\n</attachment>`,
  };
}
