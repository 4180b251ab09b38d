import assert from 'node:assert/strict';
import { test } from 'node:test';
import { liveFetch } from './live-fetch.ts';

test('a watcher is told once that the connection is lost, and when it is back', async () => {
  let text = '';
  let server: 'up' | 'down' | 'stopping' = 'up';
  const answers = async (): Promise<Response> => {
    if (server === 'down') throw new TypeError('fetch failed', { cause: new Error('refused') });
    return new Response('', { status: server === 'stopping' ? 503 : 200 });
  };
  const write = (more: string): void => {
    text += more;
  };
  const ask = liveFetch({ write, isTerminal: false }, answers);
  const events = 'http://127.0.0.1:8080/api/v1/jobs/x/events?after=0';
  await ask(events);
  assert.equal(text, '');
  server = 'stopping';
  await ask(events);
  server = 'down';
  await assert.rejects(ask(events));
  await assert.rejects(ask('http://127.0.0.1:8080/api/v1/jobs/x'));
  server = 'up';
  await ask(events);
  await ask(events);
  assert.equal(
    text,
    'connection to http://127.0.0.1:8080 lost (it answers 503): trying again\nconnected again\n',
  );
});
