/**
 * The port through which jobs ask language models. One call is one request on the wire: nothing below
 * this port repeats anything, because the platform counts the retries, waits for them and books them.
 */

/** The tiers that jobs are routed to; a file says which model each stands for. */
export const tiers = ['Haiku', 'Sonnet', 'Opus'] as const;
export type Tier = (typeof tiers)[number];

/** The classes of tokens that have prices of their own. */
export const tokenClasses = ['input', 'output', 'cacheRead', 'cacheWrite'] as const;
export type TokenClass = (typeof tokenClasses)[number];

/**
 * The tokens of one call; no token stands in two classes. `input` is what was neither read from nor
 * written to a cache, `output` includes reasoning. Null: the provider did not say, which is not zero.
 */
export type Usage = Readonly<Record<TokenClass, number | null>>;

/** The provider may have counted tokens, and did not tell how many. */
export const unknownUsage: Usage = { input: null, output: null, cacheRead: null, cacheWrite: null };

/** Nothing was counted: the request was never sent, or refused before a model read it. */
export const noUsage: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** Whether the call can be booked to the last token. */
export function isKnown(usage: Usage): usage is Readonly<Record<TokenClass, number>> {
  return tokenClasses.every((name) => usage[name] !== null);
}

/** Text or an image that goes along with a message. */
export interface Attachment {
  readonly name: string;
  /** `text/…`, `application/json` or `image/(png|jpeg|gif|webp)`. */
  readonly mediaType: string;
  readonly content: Uint8Array;
}

export interface Message {
  readonly role: 'user' | 'assistant';
  readonly text: string;
  /** Only with the user's messages. */
  readonly attachments?: readonly Attachment[];
}

/** Whom a call asks. */
export interface Target {
  /** A name of the catalog's `[providers]`. */
  readonly provider: string;
  /** The name by which the provider knows the model. */
  readonly model: string;
}

export interface ModelCall extends Target {
  /**
   * Our own id of this request, stored before the call is made. It travels as the header
   * `x-client-request-id`, so that the books can be compared with the provider's meter.
   */
  readonly requestId: string;
  /** The system prompt. */
  readonly instructions?: string;
  readonly messages: readonly Message[];
  /** Most tokens of the answer. An answer that needed more fails as `truncated`. */
  readonly maxTokens: number;
  /** Ends the call at once; it then fails as `cancelled`. */
  readonly signal?: AbortSignal;
  /** Given: the answer is streamed, and each piece of text is handed over as it arrives. */
  readonly onDelta?: (text: string) => void;
}

export interface ModelAnswer {
  /** Never truncated, may be empty: what a good answer is, the job's validators say. */
  readonly text: string;
  readonly usage: Usage;
  /** The provider's own id of the request, for its support; null where it gave none. */
  readonly providerRequestId: string | null;
  /** True if no model was asked, for want of a key. Every record of the job must say so. */
  readonly isStub: boolean;
}

export interface ModelPort {
  /** @throws ModelError, and nothing else */
  call(call: ModelCall): Promise<ModelAnswer>;
}

/**
 * - `system`: time-outs, rate limits, outages, cut or garbled answers. Worth another try.
 * - `business`: the provider did its part and the answer is no good.
 * - `permanent`: this request can never succeed there, so that it is asked once.
 */
export type FailureClass = 'system' | 'business' | 'permanent';

export const failureReasons = {
  /** No connection: refused, unknown host, or none within the connect time-out. */
  unreachable: 'system',
  /** No complete answer within the total time-out. */
  timeout: 'system',
  /** 429. */
  rate_limited: 'system',
  /** 5xx, 529 included, and 408, 409, 425. Also an error that a stream ended with. */
  unavailable: 'system',
  /** The connection ended before the answer did. */
  cut: 'system',
  /** An answer that is not what the wire prescribes. */
  malformed: 'system',
  /** The caller's signal. */
  cancelled: 'system',
  /** The answer reached `maxTokens`. */
  truncated: 'business',
  /** 400, 401, 403, 404 and every other 4xx that is not named above. */
  rejected: 'permanent',
  /** The provider or the model declined the content. */
  refused: 'permanent',
} as const satisfies Record<string, FailureClass>;
export type FailureReason = keyof typeof failureReasons;

export interface ModelErrorDetails {
  /** HTTP status; null where there was no answer. */
  readonly status?: number | null;
  /** What the provider asks us to wait before the next call, in ms; null where it did not say. */
  readonly retryAfterMs?: number | null;
  /** False only if the provider certainly saw nothing of the request. Default true. */
  readonly wasSent?: boolean;
  /** What is known so far. Default: unknown. */
  readonly usage?: Usage;
  readonly providerRequestId?: string | null;
  /** What of the answer had arrived. Default: ''. */
  readonly text?: string;
}

/** Why there is no answer. The message is fit for records: it names no secret. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly reason: FailureReason;
  readonly failureClass: FailureClass;
  readonly status: number | null;
  readonly retryAfterMs: number | null;
  readonly wasSent: boolean;
  readonly usage: Usage;
  readonly providerRequestId: string | null;
  readonly text: string;

  constructor(reason: FailureReason, message: string, details: ModelErrorDetails = {}) {
    super(message);
    this.reason = reason;
    this.failureClass = failureReasons[reason];
    this.status = details.status ?? null;
    this.retryAfterMs = details.retryAfterMs ?? null;
    this.wasSent = details.wasSent ?? true;
    this.usage = details.usage ?? unknownUsage;
    this.providerRequestId = details.providerRequestId ?? null;
    this.text = details.text ?? '';
  }
}
