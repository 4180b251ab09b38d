import { Connection } from 'rabbitmq-client';
import { exchanges, originators } from '../src/contract/names.ts';
import { queues } from '../src/contract/queues.ts';

/** Takes away what a demo with this prefix has made at the broker; what is not there is no matter. */
export async function removeTraces(url: string, prefix: string): Promise<void> {
  const gateway = `${originators.gateway}.1`;
  const durables = [...Object.values(queues).map(({ durable }) => durable), gateway];
  const connection = new Connection(url);
  connection.on('error', () => undefined);
  const channel = await connection.acquire();
  try {
    for (const name of [...durables, `${gateway}.logs`])
      for (const queue of [name, `${name}.dead`])
        await channel.queueDelete({ queue: `${prefix}${queue}` });
    for (const name of Object.values(exchanges))
      await channel.exchangeDelete({ exchange: `${prefix}${name}` });
  } finally {
    await channel.close();
    await connection.close();
  }
}
