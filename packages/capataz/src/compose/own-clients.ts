import { type Client, createClient } from '../client/index.ts';
import type { ClientInfo } from '../core/handler.ts';
import { CapatazError } from '../protocol/errors.ts';
import { type Access, createAccess } from '../server/access.ts';
import type { Clock } from '../std/clock.ts';
import type { Random } from '../std/random.ts';

interface OwnClientsOptions {
  /** Who may come in from outside. */
  readonly access: Access;
  readonly client: (name: string) => ClientInfo;
  readonly defaultName: string;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Lets an application be a client of its own server: over the same wire as all others, so that
 * there is one way to do a thing, with tokens that only this process knows.
 */
export class OwnClients implements Access {
  readonly worker: Access['worker'];
  readonly #options: OwnClientsOptions;
  readonly #clients = new Map<string, Client>();
  readonly #tokens = new Map<string, string>();
  #access: Pick<Access, 'client'> = { client: () => null };
  #url: string | null = null;

  constructor(options: OwnClientsOptions) {
    this.#options = options;
    this.worker = (token, id) => options.access.worker(token, id);
  }

  client(token: string | undefined): ClientInfo | null {
    return this.#access.client(token) ?? this.#options.access.client(token);
  }

  listensAt(url: string): void {
    this.#url = url;
  }

  /** @throws CapatazError NOT_READY before the server listens. */
  named(name = this.#options.defaultName): Client {
    const known = this.#clients.get(name);
    if (known !== undefined) return known;
    if (this.#url === null)
      throw new CapatazError('NOT_READY', 'the server does not listen yet: it has no clients');
    const { clock, random } = this.#options;
    const token = random.secret();
    this.#tokens.set(name, token);
    this.#access = this.#accessOfTokens();
    const client = createClient({ url: reachable(this.#url), token, clock, random });
    this.#clients.set(name, client);
    return client;
  }

  #accessOfTokens(): Access {
    const clients = [...this.#tokens].map(([name, token]) => {
      const { plan, params } = this.#options.client(name);
      return { name, token, params, ...(plan === null ? {} : { plan }) };
    });
    return createAccess({ clients, workers: null, commonWorkerToken: null });
  }
}

/** A server that listens on every address is reached at the one of this machine. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}
