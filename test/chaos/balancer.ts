import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Gives each connection to the next of the servers that takes it, and knows nothing else of them. */
export class Balancer {
  readonly #server = createServer((client) => this.#forward(client, this.#targets.length));
  readonly #sockets = new Set<Socket>();
  #targets: readonly number[] = [];
  #turn = 0;

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Ports of the servers. */
  set targets(ports: readonly number[]) {
    this.#targets = ports;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #forward(client: Socket, tries: number): void {
    const port = this.#targets[this.#turn % this.#targets.length];
    this.#turn += 1;
    if (port === undefined || tries === 0) {
      client.destroy();
      return;
    }
    const server = connect(port, '127.0.0.1');
    server.once('error', () => this.#forward(client, tries - 1));
    server.once('connect', () => {
      server.removeAllListeners('error');
      this.#join(client, server);
    });
  }

  /** What ends one side ends the other. */
  #join(client: Socket, server: Socket): void {
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
    client.pipe(server);
    server.pipe(client);
  }
}
