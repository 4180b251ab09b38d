import { CapatazError } from '../../protocol/errors.ts';
import type { ServerContext } from '../context.ts';
import type { OpenApiDocument } from '../docs/openapi.ts';
import { docsPage } from '../docs/page.ts';
import { type Answer, ok, type Route } from '../route.ts';

const docsPath = '/_public/docs';
const htmlType = 'text/html; charset=utf-8';
const leadPage = `<!doctype html>\n<title>Capataz</title>\n<a href="${docsPath}">The API of Capataz</a>\n`;

/** Routes without a token, which work before the engine is ready. */
export function publicRoutes(context: ServerContext, openApi: () => OpenApiDocument): Route[] {
  return [
    {
      method: 'GET',
      path: '/',
      area: 'public',
      operation: {
        id: 'root',
        summary: 'Leads to this page',
        answers: { 302: { description: 'To `/_public/docs`', types: ['text/html'] } },
      },
      handle: ({ reply }) => {
        reply.header('Location', docsPath);
        return { status: 302, text: leadPage, type: htmlType };
      },
    },
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
        errors: ['NOT_READY', 'STORE_UNAVAILABLE'],
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
      path: docsPath,
      area: 'public',
      operation: {
        id: 'docs',
        summary: 'This document for people',
        answers: { 200: { description: 'One page', types: ['text/html'] } },
      },
      handle: () => ({ status: 200, text: docsPage(openApi()), type: htmlType }),
    },
  ];
}

function readiness({ engine, closing }: ServerContext): Answer {
  if (!engine.ready || closing.aborted)
    throw new CapatazError('NOT_READY', 'The server is starting or stopping.');
  // The other routes are let through: each of them finds out, and what only reads is answered.
  if (!engine.healthy)
    throw new CapatazError('STORE_UNAVAILABLE', 'The store refuses writes at present.');
  return ok({ status: 'ready' });
}
