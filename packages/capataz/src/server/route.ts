import type { WebSocket } from '@fastify/websocket';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { ClientInfo } from '../core/handler.ts';
import { CapatazError, type ErrorCode } from '../protocol/errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks, on client routes. */
    client: ClientInfo | null;
    /** Who reports, on worker routes whose path or header names the worker. */
    worker: string | null;
  }
}

/** The one description of a route: what serves it and what `/_public/openapi.json` says about it. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT';
  /** As OpenAPI writes it: `/api/v1/jobs/{id}`. `{path}` takes in all that is left. */
  readonly path: string;
  readonly area: Area;
  /**
   * `bytes`: bodies of any type come as a stream, and nobody parses them. `form`: what a form of a
   * page sends, as an object of texts. Default: JSON.
   */
  readonly takes?: 'bytes' | 'form';
  /** Where a request may become a WebSocket; `handle` answers those that do not ask for it. */
  readonly upgrade?: Upgrade;
  readonly operation: Operation;
  readonly handle: (call: Call) => Promise<Answer> | Answer;
}

export interface Upgrade {
  /** What it throws is answered in place of the upgrade. */
  readonly admit: (request: FastifyRequest) => void;
  readonly begin: (request: FastifyRequest, socket: WebSocket) => void;
}

/** `public` needs no token and works before the engine is ready. */
export type Area = 'public' | 'client' | 'worker';

export interface Operation {
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: z.ZodObject;
  /** Header → what it is for. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: z.ZodType;
  readonly answers: Readonly<Record<number, DescribedAnswer>>;
  /** Beyond those that every route of its area may answer. */
  readonly errors?: readonly ErrorCode[];
}

export interface DescribedAnswer {
  readonly description: string;
  readonly body?: z.ZodType;
  /** Default `application/json` where there is a body. */
  readonly types?: readonly string[];
}

export interface Call {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

export type Answer =
  | { readonly status: number; readonly json: object }
  | { readonly status: number; readonly text: string; readonly type: string }
  | { readonly status: 204 }
  /** The handler writes the answer itself. */
  | { readonly status: 'streaming' };

export function ok(json: object): Answer {
  return { status: 200, json };
}

export const noContent: Answer = { status: 204 };

export const jsonType = 'application/json; charset=utf-8';

/**
 * Sends the answer. JSON is made here and handed to Fastify as text, which spares it the look for a
 * serializer.
 */
export function send(reply: FastifyReply, answer: Answer): FastifyReply {
  if (answer.status === 'streaming') return reply;
  reply.code(answer.status);
  if ('json' in answer) return reply.type(jsonType).send(JSON.stringify(answer.json));
  if ('text' in answer) return reply.type(answer.type).send(answer.text);
  return reply.send();
}

/** A member of the path. */
export function param(request: FastifyRequest, name: string): string {
  // Fastify types params as unknown; its router fills them with the path's own text.
  return (request.params as Readonly<Record<string, string>>)[name] ?? '';
}

/** The path as the router knows it: a parameter that takes in the rest can only be the last. */
export function routerPath(path: string): string {
  return path.replace(/\{path\}.*$/, '*').replaceAll(/\{(\w+)\}/g, ':$1');
}

/** The name of a file, which is what the path ends with, but for `suffix`. @throws NOT_FOUND */
export function fileNameOf({ request }: Pick<Call, 'request'>, suffix = ''): string {
  const rest = param(request, '*');
  if (rest.endsWith(suffix)) return rest.slice(0, rest.length - suffix.length);
  throw new CapatazError('NOT_FOUND', 'There is no such route.');
}

/** Ids are compared as text in every store, and UUIDs may be written in either case. */
export function jobIdOf(request: FastifyRequest): string {
  return param(request, 'id').toLowerCase();
}
