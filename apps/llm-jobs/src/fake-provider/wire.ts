import type { Usage } from '../models/contract.ts';

/** A request as both wires mean it. */
export interface FakeRequest {
  readonly wire: 'anthropic' | 'openai';
  /** The caller's own id of it; null if it gave none. */
  readonly requestId: string | null;
  readonly key: string | null;
  readonly model: string;
  readonly isStreamed: boolean;
  /** Whether a stream shall tell its usage: OpenAI's does only if asked. */
  readonly wantsUsage: boolean;
  readonly maxTokens: number;
  /** Instructions and messages, one after the other. */
  readonly input: string;
  /** The last message. */
  readonly prompt: string;
}

export interface Reply {
  /** The provider's id of the request. */
  readonly id: string;
  readonly text: string;
  readonly finish: 'stop' | 'length' | 'refusal';
  readonly usage: Readonly<Record<keyof Usage, number>>;
  /** Within the output. */
  readonly reasoning: number;
  readonly usageIn: 'last_chunk' | 'choice' | 'nowhere';
}

export interface Wire {
  readonly path: string;
  /** The header with the provider's id of a request. */
  readonly idHeader: string;
  /** @throws where the body is not one of this wire */
  read(body: unknown, headers: Readonly<Record<string, unknown>>): FakeRequest;
  whole(request: FakeRequest, reply: Reply): unknown;
  /** The events of a stream that stand before its chunks. */
  head(request: FakeRequest, reply: Pick<Reply, 'id' | 'usage'>): string;
  /** The event of a piece of text. */
  chunk(request: FakeRequest, reply: Pick<Reply, 'id'>, text: string): string;
  /** The events that end a stream well. */
  tail(request: FakeRequest, reply: Reply): string;
  error(details: { type: string; message: string; code: string | null }): unknown;
  errorEvent(details: { type: string; message: string }): string;
}

/** About three words each, so that even a short answer comes in several. */
export function chunksOf(text: string): string[] {
  return text.match(/\s*(?:\S+\s*){1,3}/g) ?? [];
}

/** `[{type: 'text', text}]` or a string: both wires have it both ways. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: { text?: unknown }) => String(part.text ?? '')).join('\n');
}

export function headerOf(headers: Readonly<Record<string, unknown>>, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' ? value : null;
}
