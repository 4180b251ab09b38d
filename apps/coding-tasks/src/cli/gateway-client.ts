import { CapatazError } from 'capataz';
import { UsageError } from 'capataz/server';
import { type ServerMessage, serverMessage } from '../contract/client.ts';

export interface GatewayAddress {
  readonly url: string;
  /** Not needed in open mode. */
  readonly token: string | null;
}

/** The gateway's HTTP and WebSocket, as the command line uses them. */
export class GatewayClient {
  readonly #address: GatewayAddress;

  constructor(address: GatewayAddress) {
    this.#address = address;
  }

  async request(method: 'GET' | 'POST', path: string, body?: object): Promise<unknown> {
    const { url } = this.#address;
    let response: Response;
    try {
      response = await fetch(`${url}${path}`, {
        method,
        headers: { ...this.#headers(), 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch (error) {
      throw new CapatazError('UNREACHABLE', `no gateway answers at ${url}`, {}, error);
    }
    const answer: unknown = await response.json();
    if (response.ok) return answer;
    const told = typeof answer === 'object' && answer !== null && 'error' in answer;
    throw new UsageError(told ? String(answer.error) : `the gateway answered ${response.status}`);
  }

  /** What the gateway says about this user's tasks, until `until` says that it is enough. */
  follow(onMessage: (message: ServerMessage) => boolean): Promise<void> {
    const socket = new WebSocket(
      `${this.#address.url.replace(/^http/, 'ws')}/socket?registros=true`,
      {
        headers: this.#headers(),
      },
    );
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.addEventListener('message', ({ data }) => {
      const parsed = serverMessage.safeParse(JSON.parse(String(data)));
      if (parsed.success && onMessage(parsed.data)) socket.close();
    });
    socket.addEventListener('close', () => resolve());
    socket.addEventListener('error', () =>
      reject(new CapatazError('UNREACHABLE', `no gateway at ${this.#address.url}`)),
    );
    return promise;
  }

  #headers(): Record<string, string> {
    const { token } = this.#address;
    return token === null ? {} : { 'x-client-token': token };
  }
}
