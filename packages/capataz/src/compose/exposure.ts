import type { Config } from '../config/settings.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { AccessEntries } from '../server/access.ts';
import type { Clock } from '../std/clock.ts';
import { MovableClock } from '../std/movable-clock.ts';

/** Open mode is for one machine (S-52), and so is a clock that anybody may move. */
export function checkExposure({ host }: Config, entries: AccessEntries, clock: Clock): void {
  if (isLoopback(host)) return;
  if (clock instanceof MovableClock) {
    throw new CapatazError(
      'CONFIG_INVALID',
      `host ${host} is not loopback, and CAPATAZ_TEST_CLOCK lets whoever comes in move the clock: take it out of the environment, or listen on 127.0.0.1`,
    );
  }
  const open = openTo(entries);
  if (open.length === 0) return;
  throw new CapatazError(
    'CONFIG_INVALID',
    `host ${host} is not loopback, and anybody could come in: give tokens to ${open.join(' and to ')}, or listen on 127.0.0.1`,
  );
}

/** Who needs no token, and where it would stand. */
export function openTo(entries: AccessEntries): string[] {
  return [
    ...(entries.clients === null ? ['clients (clients.toml)'] : []),
    ...(isOpenToWorkers(entries) ? ['workers (workers.toml or common_worker_token)'] : []),
  ];
}

function isOpenToWorkers({ workers, commonWorkerToken }: AccessEntries): boolean {
  return workers === null && commonWorkerToken === null;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}
