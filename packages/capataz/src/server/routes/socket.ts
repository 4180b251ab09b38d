import type { FastifyRequest } from 'fastify';
import { socketProtocol, tokenProtocol } from '../../protocol/client-socket.ts';
import { CapatazError } from '../../protocol/errors.ts';
import type { ServerContext } from '../context.ts';
import { noQuery } from '../docs/client-schemas.ts';
import { check } from '../parse/check.ts';
import type { Route } from '../route.ts';
import { ClientSocket } from '../socket.ts';
import { enter } from '../streams.ts';
import { clientOf } from './client-of.ts';

const description = `A WebSocket (protocol \`${socketProtocol}\`) whose messages are JSON texts. \
\`{"type":"watch","watch":"<name of your own>","job":"<id>","after":0}\` begins a watch of a job, without \`job\` of all jobs of this client; \
\`{"type":"unwatch","watch":"<name>"}\` ends it. Each watch brings what the event stream of the same kind does: \
\`entry\` with \`data\` and, as a rule, \`after\`, which given to the next watch goes on behind it; \`progress\`; \`mark\`, which only moves \`after\`; \
\`end\` when the job has ended; \`refused\` with the error. The token comes in the header or, where a browser sets none, as a further protocol: \
\`${tokenProtocol}\` and the token in base64url. Pages of another origin are refused. The socket and each watch count as event streams. \
Closes with 4400 a message that is not as it should be, 4408 silence after a ping, 4409 a reader that does not read, 1001 a server that stops.`;

/** The event streams over one WebSocket. */
export function socketRoutes(context: ServerContext): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/socket',
      area: 'client',
      operation: {
        id: 'openSocket',
        summary: 'Several event streams over one WebSocket',
        description,
        query: noQuery,
        answers: { 101: { description: 'The protocol is a WebSocket from here on' } },
        errors: ['MALFORMED_REQUEST', 'FORBIDDEN', 'LIMIT'],
      },
      upgrade: {
        admit(request) {
          check(noQuery, request.query);
          refuseForeignPages(request, context.publicUrl);
          // Only whether there is room: it is taken by the socket itself.
          enter(context, clientOf({ request }).name)();
        },
        begin: (request, socket) => {
          new ClientSocket(context, clientOf({ request }).name, socket);
        },
      },
      handle: () => {
        throw new CapatazError('MALFORMED_REQUEST', 'This route is for a WebSocket.');
      },
    },
  ];
}

/**
 * A browser lets any page open a WebSocket anywhere, other than what it does with requests, whose answers
 * it keeps from pages of another origin. Who sends no Origin is no page.
 * For the `admit` of an application's own sockets, too. @param publicUrl as the setting says
 * @throws FORBIDDEN
 */
export function refuseForeignPages(
  { headers }: Pick<FastifyRequest, 'headers'>,
  publicUrl: string | null,
): void {
  const { origin, host } = headers;
  if (origin === undefined) return;
  const own = [`http://${host}`, `https://${host}`];
  if (publicUrl !== null) own.push(new URL(publicUrl).origin);
  if (own.includes(origin)) return;
  throw new CapatazError('FORBIDDEN', 'Pages of another origin may not open a socket here.');
}

/** The token among the protocols that a WebSocket offers. */
export function tokenInProtocols(header: string | undefined): string | undefined {
  const offered = header?.split(',').map((protocol) => protocol.trim());
  const found = offered?.find((protocol) => protocol.startsWith(tokenProtocol));
  return found === undefined
    ? undefined
    : Buffer.from(found.slice(tokenProtocol.length), 'base64url').toString();
}
