import type { Clock, Log } from 'capataz/server';
import { objectOf } from './refusal.ts';
import type { Transport } from './transport.ts';

export interface ApiGatewayOptions {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly grantType: string;
  readonly scope: string | null;
  readonly timeoutMs: number;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly log: Log;
}

export interface ApiGateway {
  /** For `callbackInfo`; none where the gateway can't be had: deployments go on without. Never throws. */
  headers(): Promise<Readonly<Record<string, string>>>;
}

interface Held {
  readonly authorization: string;
  readonly until: number;
}

/** Where nothing is said of how long a token lives. */
const usualLifeSeconds = 3_600;

/**
 * The dynamic token of callbacks, replaced at half its life, so that a robot started with it has the
 * other half to come back.
 */
export function createApiGateway(options: ApiGatewayOptions): ApiGateway {
  const { clock, log, clientId } = options;
  let held: Held | null = null;
  let fetching: Promise<Held> | null = null;

  async function current(): Promise<Held> {
    if (held !== null && clock.steady() < held.until) return held;
    fetching ??= fetchToken(options).finally(() => {
      fetching = null;
    });
    held = await fetching;
    return held;
  }

  return {
    async headers() {
      try {
        const { authorization } = await current();
        return { Authorization: authorization, 'x-ibm-client-id': clientId };
      } catch (error) {
        log.warn('the API gateway gives no token: callbacks carry the static key only', { error });
        return {};
      }
    },
  };
}

async function fetchToken(options: ApiGatewayOptions): Promise<Held> {
  const { transport, clock, scope } = options;
  const begun = clock.steady();
  const { status, text } = await transport.call({
    url: options.url,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      grant_type: options.grantType,
      client_id: options.clientId,
      client_secret: options.clientSecret,
      ...(scope === null ? {} : { scope }),
    }).toString(),
    timeoutMs: options.timeoutMs,
  });
  const body = objectOf(text);
  const token = body?.access_token;
  // The text is not told: a strange answer may hold the token after all.
  if (status < 200 || status > 299 || typeof token !== 'string')
    throw new Error(`the API gateway answered ${status} without an access_token`);
  const type = typeof body?.token_type === 'string' ? body.token_type : 'Bearer';
  const seconds = Number(body?.expires_in) > 0 ? Number(body?.expires_in) : usualLifeSeconds;
  return { authorization: `${type} ${token}`, until: begun + (seconds * 1_000) / 2 };
}
