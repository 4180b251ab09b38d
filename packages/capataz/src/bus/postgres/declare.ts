import { assert } from '../../std/assert.ts';
import { defaultMaxDeliveries, defaultMaxLength, type QueueOptions } from '../contract.ts';
import type { PostgresLink } from './link.ts';

/** Makes the name and its bindings. @returns the name's id. @throws BusError */
export async function declareName(link: PostgresLink, queue: QueueOptions): Promise<number> {
  const {
    durable,
    exchange,
    patterns,
    maxDeliveries = defaultMaxDeliveries,
    maxLength = defaultMaxLength,
  } = queue;
  await link.transaction(
    ['declare-lock'],
    ['declare-name', durable, maxDeliveries, maxLength],
    ['declare-bindings', durable, exchange, patterns],
  );
  const [name] = await link.run<{ readonly id: number }>('name', durable);
  assert(name !== undefined, `the name ${durable} was declared and is not there`);
  return name.id;
}
