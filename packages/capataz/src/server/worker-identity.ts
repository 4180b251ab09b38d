import type { FastifyRequest } from 'fastify';
import { CapatazError } from '../protocol/errors.ts';
import type { Access } from './access.ts';
import type { ServerContext } from './context.ts';
import { type Call, param } from './route.ts';

/**
 * Runs before the body is read: settles who reports where path or `X-Worker-ID` says it, and turns
 * away whoever has no token at all.
 * @throws UNAUTHORIZED, FORBIDDEN
 */
export function admitWorker(access: Access, request: FastifyRequest): void {
  const inPath = param(request, 'worker_id');
  const inHeader = header(request, 'x-worker-id');
  if (inPath !== '' && inHeader !== undefined && inHeader !== inPath) {
    throw new CapatazError('FORBIDDEN', `X-Worker-ID is not ${inPath}, whose route this is.`);
  }
  const stated = inPath === '' ? inHeader : inPath;
  if (stated !== undefined) {
    admit(access, request, stated);
    request.worker = stated;
  } else if (access.worker(header(request, 'x-worker-token'), '') === 'unauthorized') {
    throw unauthorized(request);
  }
}

/**
 * Who reports: the worker of path, header or body, which must not contradict each other, so that
 * none acts as another (B-097).
 * @throws UNAUTHORIZED, FORBIDDEN, VALIDATION_FAILED when nothing says who it is
 */
export function identifyWorker(
  { access, connections }: ServerContext,
  { request, reply }: Call,
  stated: string | undefined,
): string {
  if (request.worker === null) {
    if (stated === undefined || stated === '') {
      const message = 'X-Worker-ID or worker_id must say which worker this is';
      throw new CapatazError('VALIDATION_FAILED', message, {
        problems: [{ path: 'worker_id', message: 'is required' }],
      });
    }
    admit(access, request, stated);
    request.worker = stated;
  } else if (stated !== undefined && stated !== request.worker) {
    throw new CapatazError('FORBIDDEN', `The body speaks for ${stated}, not ${request.worker}.`);
  }
  if (reply.raw.shouldKeepAlive) connections.bind(request.raw.socket, request.worker);
  return request.worker;
}

function admit(access: Access, request: FastifyRequest, worker: string): void {
  switch (access.worker(header(request, 'x-worker-token'), worker)) {
    case 'ok':
      return;
    case 'unauthorized':
      throw unauthorized(request);
    case 'forbidden':
      throw new CapatazError('FORBIDDEN', `The token is not for the worker ${worker}.`);
  }
}

function unauthorized(request: FastifyRequest): CapatazError {
  const isMissing = header(request, 'x-worker-token') === undefined;
  return new CapatazError(
    'UNAUTHORIZED',
    isMissing ? 'X-Worker-Token is missing' : 'unknown token',
  );
}

function header(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
