import { CapatazError } from '../../protocol/errors.ts';
import type { ServerContext } from '../context.ts';
import type { OpenApiDocument } from '../docs/openapi.ts';
import { docsPage } from '../docs/page.ts';
import { type Answer, ok, type Route } from '../route.ts';

/** Routes without a token, which work before the engine is ready. */
export function publicRoutes(context: ServerContext, openApi: () => OpenApiDocument): Route[] {
  return [
    {
      method: 'GET',
      path: '/_public/status',
      area: 'public',
      operation: {
        id: 'status',
        summary: 'The server answers',
        answers: { 200: { description: '`{"status":"ok"}`' } },
      },
      handle: () => ok({ status: 'ok' }),
    },
    {
      method: 'GET',
      path: '/_public/health',
      area: 'public',
      operation: {
        id: 'health',
        summary: 'The process is alive; restart it when this fails',
        answers: { 200: { description: '`{"status":"alive"}`' } },
      },
      handle: () => ok({ status: 'alive' }),
    },
    {
      method: 'GET',
      path: '/_public/ready',
      area: 'public',
      operation: {
        id: 'ready',
        summary: 'The server takes work; send no traffic while this fails',
        answers: { 200: { description: '`{"status":"ready"}`' } },
        errors: ['NOT_READY'],
      },
      handle: () => readiness(context),
    },
    {
      method: 'GET',
      path: '/_public/openapi.json',
      area: 'public',
      operation: {
        id: 'openapi',
        summary: 'This document',
        answers: { 200: { description: 'OpenAPI 3.1' } },
      },
      handle: () => ok(openApi()),
    },
    {
      method: 'GET',
      path: '/_public/docs',
      area: 'public',
      operation: {
        id: 'docs',
        summary: 'This document for people',
        answers: { 200: { description: 'One page', types: ['text/html'] } },
      },
      handle: () => ({ status: 200, text: docsPage(openApi()), type: 'text/html; charset=utf-8' }),
    },
  ];
}

function readiness({ engine, closing }: ServerContext): Answer {
  if (engine.ready && !closing.aborted) return ok({ status: 'ready' });
  throw new CapatazError('NOT_READY', 'The server is starting or stopping.');
}
