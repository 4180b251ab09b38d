import { z } from 'zod';

const tokens = z.int().nonnegative();
const ms = z.int().nonnegative();

/** Whether the meter counts tokens of the request. */
const isCounted = z.boolean().optional();

/** What the fake provider does with one request. */
export const behaviour = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('answer'),
    /** Default: a sentence made of the last message. */
    text: z.string().optional(),
    /** Tokens to report and to count instead of those of the text; `reasoning` is within `output`. */
    usage: z
      .strictObject({
        input: tokens.optional(),
        output: tokens.optional(),
        cacheRead: tokens.optional(),
        cacheWrite: tokens.optional(),
        reasoning: tokens.optional(),
      })
      .optional(),
    /**
     * Where a stream of OpenAI's wire tells the usage: in a last chunk without a choice (default), in
     * one with a choice, or, streamed or not, nowhere.
     */
    usageIn: z.enum(['last_chunk', 'choice', 'nowhere']).default('last_chunk'),
    /** Default `stop`; `length` by itself where the answer has more than the tokens allowed. */
    finish: z.enum(['stop', 'length', 'refusal']).default('stop'),
    /** Before the first byte. Default 0. */
    delayMs: ms.default(0),
    /** Before each chunk of a stream. Default 0. */
    chunkDelayMs: ms.default(0),
    isCounted: isCounted.default(true),
  }),
  z.strictObject({
    kind: z.literal('status'),
    status: z.int().min(300).max(599),
    /** Seconds of the header `retry-after`. Default: no such header. */
    retryAfter: z.number().nonnegative().optional(),
    /** How the header says it. */
    retryAfterAs: z.enum(['seconds', 'date']).default('seconds'),
    message: z.string().default('no'),
    code: z.string().optional(),
    isCounted: isCounted.default(false),
  }),
  /** Takes the request and never answers. */
  z.strictObject({ kind: z.literal('silence'), isCounted: isCounted.default(false) }),
  /** Closes the connection without an answer. */
  z.strictObject({ kind: z.literal('reset'), isCounted: isCounted.default(false) }),
  /** Breaks off in the midst of the answer; `clean`: a stream ends as if that were all. */
  z.strictObject({
    kind: z.literal('cut'),
    afterChunks: z.int().nonnegative().default(1),
    clean: z.boolean().default(false),
    isCounted: isCounted.default(true),
  }),
  /** 200 with what is no JSON, within a stream after its first chunk. */
  z.strictObject({ kind: z.literal('garbled'), isCounted: isCounted.default(true) }),
  /** An error within the stream, after its first chunk; not streamed: a 529. */
  z.strictObject({ kind: z.literal('overloaded'), isCounted: isCounted.default(true) }),
]);

const rule = z.strictObject({
  /** Which requests it is for. Default: all. */
  when: z
    .strictObject({
      wire: z.enum(['anthropic', 'openai']).optional(),
      model: z.string().optional(),
      /** Stands anywhere in the instructions or messages. */
      contains: z.string().optional(),
    })
    .default({}),
  /** How many requests it serves before the next rule has its turn. Default: without end. */
  times: z.int().positive().optional(),
  do: behaviour,
});

const share = z.number().min(0).max(1).default(0);

export const script = z.strictObject({
  /** The first that fits and is not used up rules. */
  rules: z.array(rule).default([]),
  /**
   * For requests without a rule: which share of them goes wrong, and how. The seed and the prompt
   * decide, and how often that prompt has come, so that a run can be repeated whatever its order.
   */
  chaos: z
    .strictObject({
      seed: z.int(),
      rateLimited: share,
      unavailable: share,
      silence: share,
      reset: share,
      cut: share,
      garbled: share,
      refused: share,
      truncated: share,
      empty: share,
    })
    .optional(),
  /** Limits of a sliding minute, answered with 429 and `retry-after` beyond. Default: none. */
  limits: z
    .strictObject({
      requestsPerMinute: z.int().positive().optional(),
      tokensPerMinute: z.int().positive().optional(),
    })
    .default({}),
  /** The one key that is good. Default: every one. */
  key: z.string().optional(),
  /** The models there are; another one is a 404. Default: every one. */
  models: z.array(z.string()).optional(),
  /** Most tokens of input; more is a 400. Default: no limit. */
  contextTokens: z.int().positive().optional(),
});

export type Behaviour = z.infer<typeof behaviour>;
export type Script = z.infer<typeof script>;
/** As it is written: with its defaults left out. */
export type ScriptText = z.input<typeof script>;
export type RuleText = z.input<typeof rule>;
