import { createHash } from 'node:crypto';
import type { Meter } from './meter.ts';
import { type Behaviour, behaviour, type Script } from './script.ts';
import { tokensOf } from './tokens.ts';
import type { FakeRequest } from './wire.ts';

type Chaos = NonNullable<Script['chaos']>;

const windowMs = 60_000;

/** What each share of chaos stands for. */
const mishaps: readonly (readonly [Exclude<keyof Chaos, 'seed'>, object])[] = [
  ['rateLimited', { kind: 'status', status: 429, retryAfter: 1, message: 'slow down' }],
  ['unavailable', { kind: 'status', status: 503, message: 'try again later' }],
  ['silence', { kind: 'silence' }],
  ['reset', { kind: 'reset' }],
  ['cut', { kind: 'cut' }],
  ['garbled', { kind: 'garbled' }],
  ['refused', { kind: 'answer', finish: 'refusal' }],
  ['truncated', { kind: 'answer', finish: 'length' }],
  ['empty', { kind: 'answer', text: '' }],
];

/** Decides what happens to each request, by the script. */
export class Director {
  readonly #script: Script;
  readonly #meter: Meter;
  readonly #served: number[];
  readonly #comings = new Map<string, number>();

  constructor(script: Script, meter: Meter) {
    this.#script = script;
    this.#meter = meter;
    this.#served = script.rules.map(() => 0);
  }

  /** @param now of the fake's clock, ms */
  behaviourFor(request: FakeRequest, now: number): Behaviour {
    return (
      this.#refusal(request) ??
      this.#beyondLimits(now) ??
      this.#byRule(request) ??
      this.#byChaos(request) ??
      behaviour.parse({ kind: 'answer' })
    );
  }

  /** What every provider refuses. */
  #refusal({ key, model, input }: FakeRequest): Behaviour | null {
    const { key: goodKey, models, contextTokens } = this.#script;
    if (goodKey !== undefined && key !== goodKey) return status(401, 'invalid x-api-key');
    if (models !== undefined && !models.includes(model)) return status(404, `model: ${model}`);
    if (contextTokens !== undefined && tokensOf(input) > contextTokens) {
      return status(
        400,
        `prompt is too long: ${tokensOf(input)} tokens > ${contextTokens} maximum`,
      );
    }
    return null;
  }

  #beyondLimits(now: number): Behaviour | null {
    const { requestsPerMinute, tokensPerMinute } = this.#script.limits;
    if (requestsPerMinute === undefined && tokensPerMinute === undefined) return null;
    const recent = this.#meter.entries.filter(
      ({ at, status: code }) => at > now - windowMs && code !== 429,
    );
    const tokens = recent.reduce((sum, entry) => sum + entry.tokens.input + entry.tokens.output, 0);
    const isWithin =
      recent.length < (requestsPerMinute ?? Infinity) && tokens < (tokensPerMinute ?? Infinity);
    if (isWithin) return null;
    const retryAfter = Math.ceil(((recent[0]?.at ?? now) + windowMs - now) / 1_000);
    const message = 'limit of a minute';
    return behaviour.parse({ kind: 'status', status: 429, retryAfter, message });
  }

  #byRule({ wire, model, input }: FakeRequest): Behaviour | null {
    const at = this.#script.rules.findIndex(
      ({ when, times = Infinity }, index) =>
        (this.#served[index] ?? 0) < times &&
        (when.wire ?? wire) === wire &&
        (when.model ?? model) === model &&
        input.includes(when.contains ?? ''),
    );
    if (at === -1) return null;
    this.#served[at] = (this.#served[at] ?? 0) + 1;
    return this.#script.rules[at]?.do ?? null;
  }

  #byChaos({ input }: FakeRequest): Behaviour | null {
    const { chaos } = this.#script;
    if (chaos === undefined) return null;
    const coming = (this.#comings.get(input) ?? 0) + 1;
    this.#comings.set(input, coming);
    let left = chance(`${chaos.seed}:${coming}:${input}`);
    for (const [name, mishap] of mishaps) {
      left -= chaos[name];
      if (left < 0) return behaviour.parse(mishap);
    }
    return null;
  }
}

function status(code: number, message: string): Behaviour {
  return behaviour.parse({ kind: 'status', status: code, message });
}

/** Uniform in [0, 1), the same for the same text. */
function chance(text: string): number {
  return createHash('sha256').update(text).digest().readUIntBE(0, 6) / 2 ** 48;
}
