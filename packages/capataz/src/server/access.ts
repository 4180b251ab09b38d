import { createHash, timingSafeEqual } from 'node:crypto';
import type { ClientEntry, WorkerEntry } from '../config/access-files.ts';
import type { ClientInfo } from '../core/handler.ts';
import { CapatazError } from '../protocol/errors.ts';
import { globPattern } from '../std/glob.ts';

export interface AccessEntries {
  /** Null: open mode, everyone is the client `dev`. */
  readonly clients: readonly ClientEntry[] | null;
  /** Null together with `commonWorkerToken`: open mode, any worker may come. */
  readonly workers: readonly WorkerEntry[] | null;
  /** For workers that have neither a token of their own nor a pattern. */
  readonly commonWorkerToken: string | null;
}

/** Who may come in. A token is known only by its hash, and hashes are compared in constant time. */
export interface Access {
  /** @returns null for a token that is missing or unknown. */
  client(token: string | undefined): ClientInfo | null;
  /** `unauthorized`: missing or unknown. `forbidden`: the token of another worker. */
  worker(token: string | undefined, id: string): 'ok' | 'unauthorized' | 'forbidden';
}

/** The one client of open mode. */
export const developmentClient: ClientInfo = { name: 'dev', plan: null, params: {} };

/** @throws CapatazError CONFIG_INVALID when two clients share a token. */
export function createAccess(entries: AccessEntries): Access {
  return { client: clientCheck(entries.clients), worker: workerCheck(entries) };
}

function clientCheck(entries: readonly ClientEntry[] | null): Access['client'] {
  if (entries === null) return () => developmentClient;
  const tokens = new Tokens<ClientInfo>();
  for (const { name, token, plan, params } of entries) {
    const holder = tokens.holder(token);
    if (holder !== undefined) {
      throw new CapatazError(
        'CONFIG_INVALID',
        `the clients "${holder.name}" and "${name}" have the same token`,
      );
    }
    tokens.add(token, { name, plan: plan ?? null, params: params ?? {} });
  }
  return (token) => tokens.holder(token) ?? null;
}

/** Everything that one worker token opens. */
interface Grant {
  readonly ids: Set<string>;
  readonly patterns: RegExp[];
  isCommon: boolean;
}

function workerCheck({ workers, commonWorkerToken }: AccessEntries): Access['worker'] {
  if (workers === null && commonWorkerToken === null) return () => 'ok';
  const tokens = new Tokens<Grant>();
  const ids = new Set<string>();
  const patterns: RegExp[] = [];
  for (const entry of workers ?? []) {
    const grant = grantOf(tokens, entry.token);
    if ('id' in entry) {
      ids.add(entry.id);
      grant.ids.add(entry.id);
    } else {
      const pattern = globPattern(entry.pattern);
      patterns.push(pattern);
      grant.patterns.push(pattern);
    }
  }
  if (commonWorkerToken !== null) grantOf(tokens, commonWorkerToken).isCommon = true;

  return (token, id) => {
    const grant = tokens.holder(token);
    if (grant === undefined) return 'unauthorized';
    const matches = (pattern: RegExp): boolean => pattern.test(id);
    let isFor: boolean;
    if (ids.has(id)) isFor = grant.ids.has(id);
    else if (patterns.some(matches)) isFor = grant.patterns.some(matches);
    else isFor = grant.isCommon;
    return isFor ? 'ok' : 'forbidden';
  };
}

function grantOf(tokens: Tokens<Grant>, token: string): Grant {
  const grant = tokens.holder(token) ?? { ids: new Set(), patterns: [], isCommon: false };
  tokens.add(token, grant);
  return grant;
}

/**
 * Holders by the hash of their token. The look-up by hash tells nothing by its time, since nobody
 * can choose a token whose hash comes near another's; the comparison behind it is constant anyway.
 */
class Tokens<Holder> {
  readonly #holders = new Map<string, { readonly hash: Buffer; readonly holder: Holder }>();

  add(token: string, holder: Holder): void {
    const hash = sha256(token);
    this.#holders.set(hash.toString('base64'), { hash, holder });
  }

  holder(token: string | undefined): Holder | undefined {
    if (token === undefined || token === '') return undefined;
    const hash = sha256(token);
    const found = this.#holders.get(hash.toString('base64'));
    return found !== undefined && timingSafeEqual(found.hash, hash) ? found.holder : undefined;
  }
}

/** In constant time, like the look-up of all others. */
export function isSameToken(given: string, token: string): boolean {
  return timingSafeEqual(sha256(given), sha256(token));
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
