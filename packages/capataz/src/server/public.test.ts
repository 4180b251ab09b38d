import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { ask } from '../testing/ask.ts';
import { echoBlueprint } from '../testing/echo-blueprint.ts';
import { serveEngine } from '../testing/served-engine.ts';
import type { OpenApiDocument } from './docs/openapi.ts';

const blueprints = [echoBlueprint];

test('S-52: before the engine is ready everything but /_public is 503 with Retry-After', async () => {
  await using served = await serveEngine({ blueprints, start: false });
  const { url } = served;
  assert.deepEqual((await ask(url, 'GET /_public/status')).json, { status: 'ok' });
  assert.deepEqual((await ask(url, 'GET /_public/health')).json, { status: 'alive' });
  for (const route of ['GET /_public/ready', 'GET /api/v1/jobs', 'POST /_worker/tasks/result']) {
    const { status, headers, json } = await ask(url, route);
    assert.equal(status, 503, route);
    assert.equal(headers.get('retry-after'), '1');
    assert.partialDeepStrictEqual(json, { code: 'NOT_READY' });
  }
  await served.engine.start();
  assert.deepEqual((await ask(url, 'GET /_public/ready')).json, { status: 'ready' });
  assert.equal((await ask(url, 'HEAD /_public/ready')).status, 200);
});

test('the OpenAPI document describes exactly the routes that are served', async () => {
  await using served = await serveEngine({ blueprints });
  const answer = await ask(served.url, 'GET /_public/openapi.json');
  // The server's own document.
  const document = answer.json as unknown as OpenApiDocument;
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const served_ = served.server.routes.map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual(described.toSorted(), served_.toSorted());
  for (const { path, method, operation } of served.server.routes) {
    const asked = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    assert.deepEqual(Object.keys(operation.params ?? {}), asked, `${method} ${path}`);
    const concrete = path.replaceAll(/\{\w+\}/g, 'x');
    const { json } = await ask(served.url, `${method} ${concrete}?timeout=0`);
    assert.notEqual((json as { code?: string } | null)?.code, 'NOT_FOUND', `${method} ${path}`);
  }
  const ids = served.server.routes.map(({ operation }) => operation.id);
  assert.equal(new Set(ids).size, ids.length);
});

test('the page of the API asks for nothing from elsewhere', async () => {
  await using served = await serveEngine({ blueprints });
  const { headers, text: html } = await ask(served.url, 'GET /_public/docs');
  assert.equal(headers.get('content-type'), 'text/html; charset=utf-8');
  assert.match(html, /\/api\/v1\/jobs\/\{blueprint\}/);
  assert.doesNotMatch(html, /<script|https?:\/\/|src=/);
});

test('unknown routes are 404, known ones with another method 405 with Allow', async () => {
  await using served = await serveEngine({ blueprints });
  assert.partialDeepStrictEqual(await ask(served.url, 'GET /nothing'), {
    status: 404,
    json: { code: 'NOT_FOUND' },
  });
  const wrong = await ask(served.url, 'DELETE /api/v1/jobs/some-id');
  assert.equal(wrong.status, 405);
  assert.equal(wrong.headers.get('allow'), 'POST, GET');
  assert.partialDeepStrictEqual(await ask(served.url, 'GET /api/v1/jobs/%E0%A4%A'), {
    status: 400,
    json: { code: 'MALFORMED_REQUEST' },
  });
});

test('what is no HTTP is answered 400 and the connection closed', async () => {
  await using served = await serveEngine({ blueprints });
  const { port } = new URL(served.url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write('NOT HTTP\r\n\r\n');
  assert.match(await text(socket), /^HTTP\/1\.1 400 .*MALFORMED_REQUEST/s);
});
