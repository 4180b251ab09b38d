import type { ClientInfo } from '../../core/handler.ts';
import { assert } from '../../std/assert.ts';
import type { Call } from '../route.ts';

/** Who asks: set before any client route is entered. */
export function clientOf({ request }: Pick<Call, 'request'>): ClientInfo {
  assert(request.client !== null, 'client routes are entered with a client');
  return request.client;
}
