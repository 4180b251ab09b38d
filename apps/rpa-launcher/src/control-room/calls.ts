import { type Clock, delay, type Log } from 'capataz/server';
import { ControlRoomError } from './contract.ts';
import type { Gate } from './gate.ts';
import { isAboutToken, objectOf, refusalOf, retryAfterMs } from './refusal.ts';
import type { Session, Token } from './session.ts';
import { type HttpAnswer, type Transport, TransportError } from './transport.ts';

export interface CallsOptions {
  readonly url: string;
  readonly session: Session;
  readonly transport: Transport;
  readonly gate: Gate;
  readonly clock: Clock;
  readonly log: Log;
  readonly timeoutMs: number;
}

/** What came of one call that was made once. */
export type Sent =
  | { readonly type: 'answer'; readonly answer: HttpAnswer }
  /** The token, and a new one where that made sense, was not taken. */
  | { readonly type: 'unauthorized'; readonly message: string }
  /** The Control Room asked to be left alone for longer than anybody waits here. */
  | { readonly type: 'closed'; readonly retryAfterMs: number };

interface Call {
  readonly path: string;
  readonly body: string;
  readonly mayLeave: () => boolean;
}

/** Of slower answers nobody knows when they were dated. */
const longestForSkewMs = 2_000;
/** Between the tries of a call that only reads. */
const retryDelaysMs = [2_000, 4_000, 8_000];
/** Nothing is tried again after this: time-outs are long, and cycles come round anyway. */
const retriesForMs = 30_000;
/** What the Control Room asks for in `Retry-After` and a reader waits out. */
const longestRetryMs = 60_000;

/** Calls with a token, within the rate, with time-outs. */
export class Calls {
  readonly #options: CallsOptions;
  #skewMs: number | null = null;

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  get skewMs(): number | null {
    return this.#skewMs;
  }

  /**
   * Once, and once more where the first answer says that the token is spent.
   * @param mayLeave asked at the last moment before each sending
   * @throws ControlRoomError of the login, or where it may not leave any more: then nothing was sent
   * @throws TransportError
   */
  async send(path: string, body: string, mayLeave = (): boolean => true): Promise<Sent> {
    const { session, log } = this.#options;
    const token = await session.token();
    const call = { path, body, mayLeave };
    const first = await this.#sendWith(token, call);
    const spent = tokenTrouble(first);
    if (spent === null) return first;
    log.info('the Control Room did not take the token', { path, answer: spent });
    const fresh = await session.replace(token);
    if (fresh === null) return { type: 'unauthorized', message: spent };
    const second = await this.#sendWith(fresh, call);
    const trouble = tokenTrouble(second);
    return trouble === null ? second : { type: 'unauthorized', message: trouble };
  }

  /** A call that changes nothing: repeated until it is answered, within limits. @throws ControlRoomError */
  async read(path: string, body: unknown): Promise<Readonly<Record<string, unknown>>> {
    const { clock, log } = this.#options;
    const begun = clock.steady();
    for (const retryDelayMs of [...retryDelaysMs, null]) {
      try {
        return await this.#readOnce(path, JSON.stringify(body));
      } catch (error) {
        const delayMs = clock.steady() - begun > retriesForMs ? null : retryDelayMs;
        if (!(error instanceof ControlRoomError) || delayMs === null || !isPassing(error))
          throw error;
        log.debug('asked again', { path, error });
        await delay(clock, Math.max(delayMs, error.retryAfterMs ?? 0));
      }
    }
    throw new ControlRoomError('unreachable', path);
  }

  async #readOnce(path: string, body: string): Promise<Readonly<Record<string, unknown>>> {
    const sent = await this.#sendOrThrow(path, body);
    if (sent.type === 'unauthorized')
      throw new ControlRoomError('credentials', `${path}: ${sent.message}`);
    if (sent.type === 'closed')
      throw new ControlRoomError('unavailable', `${path}: asked to wait`, sent);
    const { status, text } = sent.answer;
    if (status < 200 || status > 299) throw this.#errorOf(path, sent.answer);
    const value = objectOf(text);
    if (value === null)
      throw new ControlRoomError('refused', `${path}: the answer is no JSON object`, { status });
    return value;
  }

  async #sendOrThrow(path: string, body: string): Promise<Sent> {
    try {
      return await this.send(path, body);
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      throw new ControlRoomError('unreachable', `${path}: ${error.message}`, { cause: error });
    }
  }

  #errorOf(path: string, { status, headers, text }: HttpAnswer): ControlRoomError {
    const after = retryAfterMs(headers, this.#options.clock.now());
    const kind = status >= 500 || status === 429 ? 'unavailable' : 'refused';
    return new ControlRoomError(kind, `${path}: ${status} ${refusalOf(status, text).message}`, {
      status,
      ...(after === null ? {} : { retryAfterMs: after }),
    });
  }

  async #sendWith(token: Token, { path, body, mayLeave }: Call): Promise<Sent> {
    const { gate, transport, url, timeoutMs, clock } = this.#options;
    const closedMs = await gate.enter();
    if (closedMs !== null) return { type: 'closed', retryAfterMs: closedMs };
    if (!mayLeave()) throw new ControlRoomError('refused', `${path}: not sent: it is too late`);
    const begun = clock.now();
    const answer = await transport.call({
      url: `${url}${path}`,
      headers: { 'X-Authorization': token.text, 'content-type': 'application/json' },
      body,
      timeoutMs,
    });
    this.#measureSkew(answer, begun);
    const after = retryAfterMs(answer.headers, clock.now());
    if (after !== null && (answer.status === 429 || answer.status === 503)) gate.close(after);
    return { type: 'answer', answer };
  }

  #measureSkew({ headers }: HttpAnswer, begun: number): void {
    const theirs = Date.parse(headers.date ?? '');
    const now = this.#options.clock.now();
    if (Number.isNaN(theirs) || now - begun > longestForSkewMs) return;
    // The header has whole seconds, cut off: on average it is half a second late.
    this.#skewMs = Math.round(theirs + 500 - (begun + now) / 2);
  }
}

function tokenTrouble(sent: Sent): string | null {
  if (sent.type !== 'answer') return null;
  const refusal = refusalOf(sent.answer.status, sent.answer.text);
  return isAboutToken(refusal) ? `${refusal.status} ${refusal.message}` : null;
}

function isPassing({ kind, status, retryAfterMs: after }: ControlRoomError): boolean {
  if ((after ?? 0) > longestRetryMs) return false;
  return kind === 'unreachable' || (kind === 'unavailable' && status !== 500);
}
