import type { Clock, Log } from 'capataz/server';
import { ControlRoomError } from './contract.ts';
import { objectOf, refusalOf, retryAfterMs } from './refusal.ts';
import { type HttpAnswer, type Transport, TransportError } from './transport.ts';

export interface Credentials {
  readonly user: string;
  /** Goes before the password. */
  readonly apiKey: string | null;
  readonly password: string | null;
  readonly allowsMultipleLogin: boolean;
}

export interface SessionOptions {
  readonly url: string;
  readonly credentials: Credentials;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly log: Log;
  readonly timeoutMs: number;
  /** The age at which a token is replaced. */
  readonly refreshMs: number;
}

/** One login's token. */
export interface Token {
  readonly text: string;
  /** On the steady clock. */
  readonly since: number;
  readonly replaceAfterMs: number;
}

/** Where the Control Room does not say how long a token lives. */
const usualLifeMs = 1_200_000;
/** A token refused younger than this is not replaced at once, or two users of one name would log in in turns. */
const minAgeMs = 10_000;
/** After refused credentials, doubling: accounts are locked after a few wrong logins. */
const firstPauseMs = 60_000;
const longestPauseMs = 600_000;

/** Tokens of the Control Room. Whoever asks while a login is under way waits for that one (LH-15). */
export class Session {
  readonly #options: SessionOptions;
  #token: Token | null = null;
  #login: Promise<Token> | null = null;
  #refusal: { readonly error: ControlRoomError; readonly until: number } | null = null;
  #pauseMs = firstPauseMs;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** @throws ControlRoomError */
  async token(): Promise<Token> {
    const now = this.#options.clock.steady();
    const token = this.#token;
    if (token !== null && now - token.since < token.replaceAfterMs) return token;
    if (this.#login !== null) return this.#login;
    if (this.#refusal !== null && now < this.#refusal.until) throw this.#refusal.error;
    this.#login = this.#logIn().finally(() => {
      this.#login = null;
    });
    return this.#login;
  }

  /**
   * The Control Room did not take this token.
   * @returns the one to try in its place; null if a new one would be no better.
   */
  async replace(refused: Token): Promise<Token | null> {
    if (this.#token === refused) {
      if (this.#options.clock.steady() - refused.since < minAgeMs) return null;
      this.#token = null;
    }
    return this.token();
  }

  async logOut(): Promise<void> {
    const token = this.#token;
    this.#token = null;
    if (token === null) return;
    const { transport, url, log } = this.#options;
    try {
      await transport.call({
        url: `${url}/v1/authentication/logout`,
        headers: { 'X-Authorization': token.text, 'content-type': 'application/json' },
        body: '{}',
        timeoutMs: 5_000,
      });
    } catch (error) {
      log.debug('the token ends by itself: logging out failed', { error });
    }
  }

  async #logIn(): Promise<Token> {
    const { clock, log } = this.#options;
    const since = clock.steady();
    const answer = await this.#post();
    if (answer.status >= 200 && answer.status < 300) {
      const token = tokenOf(answer, since, this.#options.refreshMs);
      this.#token = token;
      this.#refusal = null;
      this.#pauseMs = firstPauseMs;
      log.debug('logged in to the Control Room');
      return token;
    }
    throw this.#refused(answer);
  }

  async #post(): Promise<HttpAnswer> {
    const { transport, url, timeoutMs, credentials } = this.#options;
    const { user: username, apiKey, password, allowsMultipleLogin: multipleLogin } = credentials;
    const body = apiKey === null ? { username, password, multipleLogin } : { username, apiKey };
    try {
      return await transport.call({
        url: `${url}/v2/authentication`,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        timeoutMs,
      });
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      throw new ControlRoomError('unreachable', `login: ${error.message}`, { cause: error });
    }
  }

  #refused({ status, headers, text }: HttpAnswer): ControlRoomError {
    const { clock } = this.#options;
    const after = retryAfterMs(headers, clock.now());
    const details = { status, ...(after === null ? {} : { retryAfterMs: after }) };
    const { message } = refusalOf(status, text);
    if (status !== 400 && status !== 401 && status !== 403) {
      const kind = status >= 500 || status === 429 ? 'unavailable' : 'refused';
      return new ControlRoomError(kind, `login: ${status} ${message}`, details);
    }
    const error = new ControlRoomError(
      'credentials',
      `login refused: ${status} ${message}`,
      details,
    );
    this.#refusal = { error, until: clock.steady() + this.#pauseMs };
    this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs);
    return error;
  }
}

/** @throws ControlRoomError refused */
function tokenOf({ status, text }: HttpAnswer, since: number, refreshMs: number): Token {
  const body = objectOf(text);
  if (typeof body?.token !== 'string' || body.token === '')
    throw new ControlRoomError('refused', 'login: the answer has no token', { status });
  const seconds = Number(body.tokenExpiresIn);
  const lifeMs = seconds > 0 ? seconds * 1_000 : usualLifeMs;
  return { text: body.token, since, replaceAfterMs: Math.min(refreshMs, lifeMs * 0.95) };
}
