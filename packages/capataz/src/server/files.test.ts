/** Files over real HTTP on a real disk. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { FilesOptions } from '../files/contract.ts';
import { type Disk, HeardLog, preparedDisk, zeros } from '../files/fixtures.ts';
import { type Asked, type AskOptions, ask } from '../testing/ask.ts';
import { echoBlueprint } from '../testing/echo-blueprint.ts';
import {
  type ServedEngine,
  type ServedEngineOptions,
  serveEngine,
} from '../testing/served-engine.ts';
import { until } from '../testing/until.ts';
import type { OpenApiDocument } from './docs/openapi.ts';

const access = {
  clients: [
    { name: 'ann', token: 'a' },
    { name: 'bob', token: 'b' },
  ],
  workers: null,
  commonWorkerToken: null,
} as ServedEngineOptions['access'];

function serve(
  files: FilesOptions,
  options: Partial<ServedEngineOptions> = {},
): Promise<ServedEngine> {
  return serveEngine({ blueprints: [echoBlueprint], files, ...(access && { access }), ...options });
}

const ann = { 'X-Client-Token': 'a' };
const bob = { 'X-Client-Token': 'b' };

async function startJob({ url }: ServedEngine): Promise<string> {
  const { json } = await ask(url, 'POST /api/v1/jobs/echo', { headers: ann, body: {} });
  return (json as { job_id: string }).job_id;
}

/** The path goes out as it is: fetch would resolve `..` away. */
function raw(
  { url }: ServedEngine,
  method: string,
  path: string,
  headers: Readonly<Record<string, string | number>> = {},
): ClientRequest {
  const { port } = new URL(url);
  return request({ host: '127.0.0.1', port, method, path, headers: { ...ann, ...headers } });
}

async function answerOf(sent: ClientRequest): Promise<{ status: number; text: string }> {
  // What an 'response' event carries.
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: answer.statusCode ?? 0, text: await text(answer) };
}

async function rawly(
  served: ServedEngine,
  method: string,
  path: string,
): Promise<{ status: number; text: string }> {
  return answerOf(raw(served, method, path).end(method === 'GET' ? undefined : 'x'));
}

function upload(url: string, path: string, content: string): Promise<Asked> {
  const options: AskOptions = { headers: ann, rawBody: content };
  return ask(url, `PUT ${path}`, options);
}

test('A-56 a client stores files with its job, lists and reads them', async () => {
  using disk = await preparedDisk();
  await using served = await serve(disk.options);
  const { url } = served;
  const id = await startJob(served);
  const files = `/api/v1/jobs/${id}/files`;
  // The type of the body is nobody's business, JSON that is none included.
  const stored = await upload(url, `${files}/in/a%20b.json`, '{"half');
  assert.deepEqual([stored.status, stored.json], [200, { path: 'in/a b.json', size: 6 }]);
  await upload(url, `${files}/empty`, '');
  await upload(url, `${files}/in%2Fc`, 'c');
  assert.equal(readFileSync(disk.at('jobs', id, 'in', 'a b.json'), 'utf8'), '{"half');
  const read = await ask(url, `GET ${files}/in/a%20b.json`, { headers: ann });
  assert.deepEqual([read.status, read.text], [200, '{"half']);
  assert.equal(read.headers.get('content-type'), 'application/octet-stream');
  assert.equal(read.headers.get('content-length'), '6');
  assert.match(read.headers.get('content-disposition') ?? '', /^attachment; .*a%20b\.json$/);
  assert.equal(read.headers.get('x-content-type-options'), 'nosniff');
  const page = await ask(url, `GET ${files}?limit=2`, { headers: ann });
  const sizes = (answer: Asked): unknown =>
    (answer.json as { files: { path: string; size: number }[] }).files.map((f) => [f.path, f.size]);
  assert.deepEqual(sizes(page), [
    ['empty', 0],
    ['in/a b.json', 6],
  ]);
  const { next } = page.json as { next: string };
  const rest = await ask(url, `GET ${files}?after=${encodeURIComponent(next)}`, { headers: ann });
  assert.deepEqual([sizes(rest), (rest.json as { next: null }).next], [[['in/c', 1]], null]);
});

test('A-56 a foreign job and an unknown one look the same to a client', async () => {
  using disk = await preparedDisk();
  await using served = await serve(disk.options);
  const id = await startJob(served);
  await upload(served.url, `/api/v1/jobs/${id}/files/f`, 'mine');
  const unknown = '0199a000-0000-7000-8000-00000000dead';
  for (const [method, end] of [
    ['GET', ''],
    ['GET', '/f'],
    ['GET', '/no'],
    ['PUT', '/f'],
    ['POST', '/f/link'],
  ]) {
    const of = (job: string): Promise<Asked> =>
      ask(served.url, `${method} /api/v1/jobs/${job}/files${end}`, {
        headers: bob,
        ...(method === 'GET' ? {} : { body: {} }),
      });
    const [foreign, absent] = [await of(id), await of(unknown)];
    assert.partialDeepStrictEqual(foreign, { status: 404, json: { code: 'JOB_NOT_FOUND' } });
    assert.equal(foreign.text.replace(id, ''), absent.text.replace(unknown, ''));
  }
  const nobody = await ask(served.url, `GET /api/v1/jobs/${id}/files/f`);
  assert.equal(nobody.status, 401);
  assert.equal(readFileSync(disk.at('jobs', id, 'f'), 'utf8'), 'mine');
});

test('A-56 names that leave the folder are refused on the wire, however they are spelt', async () => {
  using disk = await preparedDisk();
  await using served = await serve(disk.options);
  const id = await startJob(served);
  const head = `/api/v1/jobs/${id}/files/`;
  const everything = (): string[] =>
    readdirSync(disk.folder, { recursive: true, encoding: 'utf8' }).sort();
  const before = everything();
  const names = ['..', '../x', '..%2Fx', '%2e%2e/x', '%2E%2E%2Fx', 'a/..%2f..%2fx', '%2Fetc'];
  for (const name of [...names, '..%5Cx', 'a//b', '', '.', '%2e', 'a/', 'x'.repeat(300)]) {
    for (const method of ['GET', 'PUT']) {
      const answer = await rawly(served, method, head + name);
      assert.equal(answer.status, 400, `${method} ${name}`);
      assert.match(answer.text, /"code":"FILE_NAME_INVALID"/);
    }
    assert.match((await rawly(served, 'POST', `${head}${name}/link`)).text, /"code":"/);
  }
  assert.equal((await rawly(served, 'PUT', `${head}a%00b`)).status, 400);
  // Spelt twice over it is an ordinary name.
  assert.equal((await rawly(served, 'PUT', `${head}%252e%252e`)).status, 200);
  const added = everything().filter((path) => !before.includes(path));
  assert.deepEqual(added, [`jobs/${id}`, `jobs/${id}/%2e%2e`]);
  // A job is named by nothing but an id.
  for (const job of ['..', '%2e%2e', '..%2f..']) {
    assert.ok((await rawly(served, 'GET', `/api/v1/jobs/${job}/files/f`)).status === 404, job);
  }
});

test('A-56 a file above the limit is refused, told beforehand or not, and the connection lives', async () => {
  using disk = await preparedDisk({ maxBytes: 100_000 });
  await using served = await serve(disk.options);
  const id = await startJob(served);
  const path = `/api/v1/jobs/${id}/files/f`;
  const fits = await upload(served.url, path, 'x'.repeat(100_000));
  assert.equal(fits.status, 200);
  const told = await upload(served.url, path, 'x'.repeat(100_001));
  assert.partialDeepStrictEqual(told, { status: 413, json: { code: 'PAYLOAD_TOO_LARGE' } });
  const untold = raw(served, 'PUT', path);
  const answer = answerOf(untold);
  for (let sent = 0; sent < 5; sent += 1) untold.write('x'.repeat(50_000));
  untold.end();
  assert.deepEqual((await answer).status, 413);
  assert.equal(readFileSync(disk.at('jobs', id, 'f')).length, 100_000);
  assert.deepEqual(readdirSync(disk.at('incoming')), []);
});

test('A-56 transfers beyond the limit are 503 with Retry-After, until one ends', async () => {
  using disk = await preparedDisk({ maxTransfers: 1 });
  await using served = await serve(disk.options);
  const id = await startJob(served);
  const path = `/api/v1/jobs/${id}/files/f`;
  const first = raw(served, 'PUT', path);
  const answer = answerOf(first);
  first.write('one');
  await until(() => disk.store.freeTransfers === 0);
  const busy = await upload(served.url, path, 'two');
  assert.partialDeepStrictEqual(busy, { status: 503, json: { code: 'FILES_BUSY' } });
  assert.equal(busy.headers.get('retry-after'), '1');
  assert.equal((await ask(served.url, `GET ${path}`, { headers: ann })).status, 503);
  first.end(' whole');
  assert.equal((await answer).status, 200);
  assert.equal((await ask(served.url, `GET ${path}`, { headers: ann })).text, 'one whole');
});

test('A-56 a caller that hangs up, or stands still, leaves nothing and holds nothing', async () => {
  using disk = await preparedDisk();
  await using served = await serve(disk.options);
  const id = await startJob(served);
  const path = `/api/v1/jobs/${id}/files/f`;
  for (const end of ['hang up', 'stand still']) {
    const sent = raw(served, 'PUT', path);
    sent.on('error', () => undefined);
    sent.write('half');
    // What came is written, and what is missing is waited for.
    await until(() => sizesIn(disk.at('incoming')).join() === '4');
    if (end === 'hang up') sent.destroy();
    else await served.clock.advance(60_000);
    await until(() => disk.store.freeTransfers === 20);
    assert.deepEqual(readdirSync(disk.at('incoming')), []);
  }
  assert.equal((await ask(served.url, `GET ${path}`, { headers: ann })).status, 404);
});

test('A-56 a download that nobody reads is given up', async () => {
  using disk = await preparedDisk();
  await using served = await serve(disk.options);
  const id = await startJob(served);
  await disk.store.put(id, 'f', zeros(20_000_000), { maxBytes: 20_000_000 });
  const sent = raw(served, 'GET', `/api/v1/jobs/${id}/files/f`).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  answer.pause().on('error', () => undefined);
  assert.equal(disk.store.freeTransfers, 19);
  // The sockets take a good part before they are full, and each piece begins the time anew.
  await until(async () => {
    await served.clock.advance(60_000);
    return disk.store.freeTransfers === 20;
  });
  sent.destroy();
});

test('A-56 a job that has ended takes no files, also not one that was on its way', async () => {
  using disk = await preparedDisk({ keep: true });
  await using served = await serve(disk.options);
  const { url } = served;
  const id = await startJob(served);
  const path = `/api/v1/jobs/${id}/files`;
  await upload(url, `${path}/kept`, 'x');
  const sent = raw(served, 'PUT', `${path}/late`);
  const answer = answerOf(sent);
  sent.write('x');
  await until(() => readdirSync(disk.at('incoming')).length === 1);
  await ask(url, `POST /api/v1/jobs/${id}/cancel`, { headers: ann, body: {} });
  sent.end();
  assert.match((await answer).text, /"code":"ALREADY_FINAL"/);
  assert.equal((await upload(url, `${path}/late`, 'x')).status, 409);
  assert.equal((await ask(url, `GET ${path}/kept`, { headers: ann })).text, 'x');
  assert.deepEqual(readdirSync(disk.at('jobs', id)), ['kept']);
});

test('A-56 a link opens one file without a token, for its time', async () => {
  using disk = await preparedDisk();
  const options = { ...disk.options };
  await using served = await serve(options);
  const { url } = served;
  const id = await startJob(served);
  const path = `/api/v1/jobs/${id}/files/a/f%20g`;
  await upload(url, path, 'text');
  const link = await ask(url, `POST ${path}/link`, { headers: ann, body: { expires_in: 60 } });
  assert.equal(link.status, 200, link.text);
  const { url: target, expires_at } = link.json as { url: string; expires_at: string };
  assert.ok(Date.parse(expires_at) > 0);
  const read = await ask(url, `GET ${target}`);
  assert.deepEqual([read.status, read.text], [200, 'text']);
  const head = await ask(url, `HEAD ${target}`);
  assert.deepEqual([head.status, head.text], [200, '']);
  for (const wrong of [
    target.replace('f%20g', 'g'),
    target.replace(/signature=../, 'signature=__'),
  ]) {
    const refused = await ask(url, `GET ${wrong}`);
    assert.partialDeepStrictEqual(refused, { status: 403, json: { code: 'LINK_INVALID' } });
  }
  assert.equal((await ask(url, `GET /_public/files/${id}/a/f%20g`)).status, 400);
  for (const expires_in of [0, 3_601, 1.5]) {
    const refused = await ask(url, `POST ${path}/link`, { headers: ann, body: { expires_in } });
    assert.equal(refused.status, 400);
  }
  await until(() => disk.store.freeTransfers === 20);
});

test('A-56 a worker reaches files of a job only while it holds its attempt', async () => {
  using disk = await preparedDisk({ keep: true });
  await using served = await serve(disk.options);
  const { url } = served;
  const id = await startJob(served);
  const path = `/_worker/workers/w1/jobs/${id}/files/out`;
  const put = (query = '', worker = 'w1'): Promise<Asked> =>
    ask(url, `PUT ${path.replace('w1', worker)}${query}`, { rawBody: 'result' });
  const refused = { status: 409, json: { code: 'ATTEMPT_NOT_CURRENT' } };
  for (const worker_id of ['w1', 'w2']) {
    const body = { worker_id, supported_skills: ['echo'] };
    await ask(url, 'POST /_worker/workers/register', { body });
  }
  assert.partialDeepStrictEqual(await put(), refused);
  const task = await ask(url, 'GET /_worker/workers/w1/tasks/next?timeout=0');
  const { task_id } = task.json as { task_id: string };
  assert.equal((await put()).status, 200);
  assert.equal((await put(`?attempt=${task_id}`)).status, 200);
  assert.equal((await ask(url, `GET ${path}`)).text, 'result');
  assert.partialDeepStrictEqual(await put('?attempt=another'), refused);
  assert.partialDeepStrictEqual(await put('', 'w2'), refused);
  assert.partialDeepStrictEqual(await ask(url, `GET ${path.replace('w1', 'w2')}`), refused);
  const other = await startJob(served);
  assert.partialDeepStrictEqual(await ask(url, `GET ${path.replace(id, other)}`), refused);
  const asOther = await ask(url, `GET ${path}`, { headers: { 'X-Worker-ID': 'w2' } });
  assert.equal(asOther.status, 403);
  // While the rest is on its way, the attempt ends.
  const late = raw(served, 'PUT', path);
  const answer = answerOf(late);
  late.write('late');
  await until(() => readdirSync(disk.at('incoming')).length === 1);
  await ask(url, `POST /api/v1/jobs/${id}/hold`, { headers: ann });
  await ask(url, 'POST /_worker/tasks/result', {
    headers: { 'X-Worker-ID': 'w1' },
    body: { job_id: id, task_id, status: 'success', data: {} },
  });
  late.end();
  assert.match((await answer).text, /"code":"ATTEMPT_NOT_CURRENT"/);
  assert.partialDeepStrictEqual(await ask(url, `GET ${path}`), refused);
  assert.equal(readFileSync(disk.at('jobs', id, 'out'), 'utf8'), 'result');
});

test('A-56 50 MB go in and out with flat memory', async () => {
  const size = 50_000_000;
  using disk = await preparedDisk({ maxBytes: size });
  await using served = await serve(disk.options);
  const id = await startJob(served);
  const path = `/api/v1/jobs/${id}/files/large`;
  const memory = new MemoryWatch();
  const sent = raw(served, 'PUT', path, { 'Content-Length': size });
  const answer = answerOf(sent);
  for await (const piece of zeros(size, (done) => memory.look(done))) {
    if (!sent.write(piece)) await once(sent, 'drain');
  }
  sent.end();
  assert.deepEqual(JSON.parse((await answer).text), { path: 'large', size });
  const get = raw(served, 'GET', path).end();
  const [download] = (await once(get, 'response')) as [IncomingMessage];
  let received = 0;
  for await (const chunk of download as AsyncIterable<Buffer>) {
    received += chunk.length;
    memory.look(received);
  }
  assert.equal(received, size);
  assert.ok(memory.looks >= 18, `looked ${memory.looks} times`);
  assert.ok(memory.mostBytes < size / 2, `held ${memory.mostBytes} bytes`);
});

test('A-56 a link to a file begins with the public address, if the server has one', async () => {
  using disk = await preparedDisk();
  await using served = await serve({ ...disk.options }, { publicUrl: 'https://c.example' });
  const path = `/api/v1/jobs/${await startJob(served)}/files/f`;
  await upload(served.url, path, 'text');
  const { json } = await ask(served.url, `POST ${path}/link`, { headers: ann, body: {} });
  const { url } = json as { url: string };
  assert.ok(url.startsWith('https://c.example/_public/files/'), url);
  const read = await ask(served.url, `GET ${url.slice('https://c.example'.length)}`);
  assert.deepEqual([read.status, read.text], [200, 'text']);
});

test('A-56 without a place for files there are no routes for them', async () => {
  await using served = await serveEngine({ blueprints: [echoBlueprint] });
  const answer = await ask(served.url, 'GET /api/v1/jobs/x/files');
  assert.partialDeepStrictEqual(answer, { status: 404, json: { code: 'NOT_FOUND' } });
});

test('A-56 the routes of files are described, and told where the method is wrong', async () => {
  using disk = await preparedDisk();
  await using served = await serve(disk.options);
  const { paths } = (await ask(served.url, 'GET /_public/openapi.json'))
    .json as unknown as OpenApiDocument;
  const put = paths['/api/v1/jobs/{id}/files/{path}']?.put;
  assert.deepEqual(put?.requestBody?.content, { 'application/octet-stream': {} });
  assert.ok(put.responses['503']?.description.includes('FILES_BUSY'));
  assert.match((await ask(served.url, 'GET /_public/docs')).text, /curl -X PUT .*-T/);
  const wrong = await ask(served.url, 'DELETE /api/v1/jobs/x/files/a/b', { headers: ann });
  assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'PUT, GET']);
});

test('A-56 a disk that refuses is a 503, and stands in the log', async () => {
  const heard = new HeardLog();
  using disk = await preparedDisk({ log: heard.log });
  await using served = await serve(failing(disk));
  const id = await startJob(served);
  const answer = await upload(served.url, `/api/v1/jobs/${id}/files/f`, 'x');
  assert.partialDeepStrictEqual(answer, { status: 503, json: { code: 'FILES_UNAVAILABLE' } });
  await heard.heard('a file could not be stored');
});

function sizesIn(folder: string): number[] {
  return readdirSync(folder).map((name) => statSync(join(folder, name)).size);
}

/** A full disk, as the one who writes to it meets it. */
function failing({ options, store }: Disk): FilesOptions {
  const put: typeof store.put = (job, name, _content, more) => {
    const full = Object.assign(new Error('no space'), { code: 'ENOSPC', syscall: 'write' });
    const content = (async function* (): AsyncGenerator<Uint8Array> {
      yield await Promise.reject(full);
    })();
    return store.put(job, name, content, more);
  };
  const failingStore = Object.assign(Object.create(store), {
    prepare: () => store.prepare(),
    put,
    remove: (job: string) => store.remove(job),
    jobs: (page: Parameters<typeof store.jobs>[0]) => store.jobs(page),
  }) as typeof store;
  return { ...options, store: failingStore };
}

/** What is alive, which is what can't be given back: garbage that lies about says nothing. */
class MemoryWatch {
  readonly #collect: () => void;
  readonly #before: number;
  #next = 0;
  #last = 0;
  looks = 0;
  mostBytes = 0;

  constructor() {
    setFlagsFromString('--expose-gc');
    this.#collect = runInNewContext('gc');
    this.#before = this.#alive();
  }

  /** Looks every 5 MB. */
  look(done: number): void {
    if (done < this.#last) this.#next = 0;
    this.#last = done;
    if (done < this.#next) return;
    this.#next += 5_000_000;
    this.looks += 1;
    this.mostBytes = Math.max(this.mostBytes, this.#alive() - this.#before);
  }

  #alive(): number {
    // The first one finds, the second one gives back.
    this.#collect();
    this.#collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  }
}
