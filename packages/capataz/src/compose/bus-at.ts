import { type Bus, type BusCodec, BusError } from '../bus/contract.ts';
import { createPostgresBus } from '../bus/postgres/postgres-bus.ts';
import { createRabbitBus } from '../bus/rabbit/rabbit-bus.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';

const kinds = new Map([
  ['amqp:', createRabbitBus],
  ['amqps:', createRabbitBus],
  ['postgres:', createPostgresBus],
  ['postgresql:', createPostgresBus],
]);

/**
 * The bus that the setting `bus_url` names. It holds a password, so that no part of it is repeated.
 * @throws CapatazError CONFIG_INVALID
 */
export function busAt(
  url: string,
  surroundings: { readonly clock: Clock; readonly log: Log; readonly codec?: BusCodec },
): Bus {
  const create = kinds.get(URL.canParse(url) ? new URL(url).protocol : '');
  try {
    if (create === undefined) {
      throw new BusError('invalid', 'it has to begin with amqp:// (RabbitMQ) or postgres://');
    }
    return create({ url, name: 'capataz', ...surroundings });
  } catch (error) {
    if (!(error instanceof BusError)) throw error;
    throw new CapatazError('CONFIG_INVALID', `bus_url: ${error.message}`, {}, error);
  }
}
