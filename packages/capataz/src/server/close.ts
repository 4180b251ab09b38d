import type { Server } from 'node:http';
import type { Clock } from '../std/clock.ts';

/** Stops listening, waits for running requests, and cuts what is left after `drainMs`. */
export async function closeGracefully(
  server: Server,
  clock: Clock,
  drainMs: number,
): Promise<void> {
  if (!server.listening) return;
  await new Promise<void>((resolve) => {
    const cancel = clock.after(drainMs, () => server.closeAllConnections());
    // Node closes idle connections with it, and each other one behind its running request.
    server.close(() => {
      cancel();
      resolve();
    });
  });
}
