import { createHmac } from 'node:crypto';
import type { Channel } from './notice.ts';

export interface WebhookSettings {
  readonly url: string;
  readonly key: string | null;
}

/** Anything but 2xx is a failure, a redirect too: the body is for nobody else. */
export function webhookChannel({ url, key }: WebhookSettings): Channel {
  return async (notice, { id, signal }) => {
    const body = JSON.stringify({ tipo: 'PLAN_ESPERA_APROBACION', id, payload: notice });
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      signal,
      headers: {
        'content-type': 'application/json',
        'x-capataz-delivery': id,
        ...(key === null ? {} : { 'x-capataz-signature': signatureOf(key, body) }),
      },
      body,
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`the webhook answered ${response.status}`);
  };
}

function signatureOf(key: string, body: string): string {
  return `sha256=${createHmac('sha256', key).update(body).digest('hex')}`;
}
