import type { HttpCall, Transport } from './transport.ts';

/** What is shorter would blot out half of what is said. */
const leastSecretChars = 6;

/**
 * The same transport, whose refusals repeat no secret of the call: their texts go into logs, tables and mails
 * (L-63).
 */
export function discreet(transport: Transport, secrets: readonly (string | null)[]): Transport {
  const texts = secrets.filter((text) => text !== null && text.length >= leastSecretChars);
  return {
    async call(call: HttpCall) {
      const answer = await transport.call(call);
      if (answer.status >= 200 && answer.status < 300) return answer;
      const hidden = [...texts, call.headers['X-Authorization']];
      const text = hidden.reduce<string>(
        (said, secret) => (secret === undefined ? said : said.replaceAll(secret ?? '', '********')),
        answer.text.replaceAll(/\bBearer [^\s"']+/gi, 'Bearer ********'),
      );
      return { ...answer, text };
    },
    close: () => transport.close(),
  };
}
