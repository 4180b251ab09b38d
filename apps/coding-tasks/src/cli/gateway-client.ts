import { CapatazError, type ErrorCode } from 'capataz';
import { z } from 'zod';
import { type ServerMessage, serverMessage } from '../contract/client.ts';
import { applicationName } from '../contract/envelope.ts';

const refusal = z.object({
  code: z.string(),
  error: z.string(),
  details: z.record(z.string(), z.json()).optional(),
});

const hint = `Start one with \`${applicationName} serve\`, or name it with --gateway-url.`;

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
      throw new CapatazError('UNREACHABLE', `no gateway answers at ${url}`, { hint }, error);
    }
    const answer: unknown = await response.json().catch(() => null);
    if (response.ok && answer !== null) return answer;
    const refused = refusal.safeParse(answer);
    // Its codes are those of the server's catalogue.
    if (refused.success)
      throw new CapatazError(refused.data.code as ErrorCode, refused.data.error, {
        ...refused.data.details,
        hint: `\`${applicationName} task list\` shows your tasks.`,
      });
    throw new CapatazError('UNREACHABLE', `what answers at ${url} is no gateway`, { hint });
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
    const { url } = this.#address;
    socket.addEventListener('message', ({ data }) => {
      const parsed = serverMessage.safeParse(JSON.parse(String(data)));
      if (!parsed.success || !onMessage(parsed.data)) return;
      resolve();
      socket.close();
    });
    const lost = `the connection to the gateway at ${url} is lost; its tasks go on: watch again`;
    socket.addEventListener('close', () => reject(new CapatazError('UNREACHABLE', lost)));
    socket.addEventListener('error', () =>
      reject(new CapatazError('UNREACHABLE', `no gateway answers at ${url}`, { hint })),
    );
    return promise;
  }

  #headers(): Record<string, string> {
    const { token } = this.#address;
    return token === null ? {} : { 'x-client-token': token };
  }
}
