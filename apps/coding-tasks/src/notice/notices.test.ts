import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { until } from 'capataz/testing';
import { SMTPServer } from 'smtp-server';
import { answers, second, silentServices, taskIn, World } from '../fixtures/world.ts';
import { noticeChannels } from './settings.ts';

interface Post {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** A webhook that answers with the given statuses, one after the other, and then with 204. */
async function webhook(...statuses: number[]) {
  const posts: Post[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      posts.push({ headers: request.headers, body });
      response.writeHead(statuses.shift() ?? 204, { location: '/elsewhere' }).end();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    posts,
    url: `http://127.0.0.1:${port}/hook`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await once(server.close(), 'close');
    },
  };
}

/** A real mail server that takes everything from the one user that it knows. */
async function mailServer() {
  const mails: string[] = [];
  const recipients: string[] = [];
  const server = new SMTPServer({
    authMethods: ['PLAIN'],
    allowInsecureAuth: true,
    // Its certificate is its own, which a client is right not to trust.
    disabledCommands: ['STARTTLS'],
    onAuth: ({ username, password }, _session, callback) => {
      const isKnown = username === 'capataz' && password === 'secret';
      callback(isKnown ? null : new Error('who?'), { user: username });
    },
    onRcptTo: ({ address }, _session, callback) => {
      recipients.push(address);
      callback();
    },
    onData: (stream, _session, callback) => {
      let text = '';
      stream.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      stream.on('end', () => {
        mails.push(text);
        callback();
      });
    },
  });
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const { port } = listening.address() as AddressInfo;
  return {
    mails,
    recipients,
    url: `smtp://capataz:secret@127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

async function noticeStates(world: World): Promise<string[]> {
  const { jobs } = await world.client.jobs.list({ blueprint: 'plan-notice' });
  return jobs.map(({ state }) => state);
}

test('S-76 a webhook is told that a plan waits: signed, again after a failure, once for a plan', async () => {
  await using hook = await webhook(500, 302);
  await using world = await World.start({
    ...silentServices,
    settings: { noticeWebhook: hook.url, noticeWebhookKey: 'key', reviewers: 'rita, bob' },
  });
  const taskId = await taskIn(world, 'ESPERANDO_APROBACION_PLAN');
  await until(async () => {
    await world.clock.advance(second);
    return (await noticeStates(world)).includes('SENT');
  });
  assert.equal(hook.posts.length, 3);
  const { headers, body } = hook.posts[2] ?? { headers: {}, body: '' };
  assert.equal(
    headers['x-capataz-signature'],
    `sha256=${createHmac('sha256', 'key').update(body).digest('hex')}`,
  );
  const { plan } = await world.record(taskId);
  const told = JSON.parse(body);
  assert.deepEqual(told, {
    tipo: 'PLAN_ESPERA_APROBACION',
    id: headers['x-capataz-delivery'],
    payload: {
      ...{ taskId, planId: 'plan-1', hash: plan?.hash, plan: { pasos: ['paint it'] } },
      ...{ prompt: 'make it greener', repositorioOrigen: 'file:///repository' },
      ...{ usuario: 'ana', revisores: ['rita', 'bob'] },
    },
  });
  assert.equal(new Set(hook.posts.map((post) => post.headers['x-capataz-delivery'])).size, 1);
  await world.result(taskId, answers.plan('plan-2'));
  await until(() => hook.posts.length === 4);
  assert.equal(JSON.parse(hook.posts[3]?.body ?? '').payload.planId, 'plan-2');
});

test('S-76 a mail tells it, with the plan and what to type', async () => {
  await using server = await mailServer();
  await using world = await World.start({
    ...silentServices,
    settings: { smtpUrl: server.url, noticeMailTo: 'rita@example.org, bob@example.org' },
  });
  const taskId = await world.create({ prompt: 'greener\nBcc: everybody@example.org' });
  await world.result(taskId, answers.plan());
  await until(() => server.mails.length === 1);
  const [mail = ''] = server.mails;
  const { plan } = await world.record(taskId);
  assert.deepEqual(server.recipients, ['rita@example.org', 'bob@example.org']);
  assert.match(mail, /^Subject: A plan waits: greener Bcc: everybody@example.org\r$/m);
  const text = mail.replaceAll(/=\r\n/g, '');
  assert.ok(text.includes(`capataz-coding task approve ${taskId} --hash ${plan?.hash}`), text);
  assert.match(text, /paint it/);
  await until(async () => (await noticeStates(world)).includes('SENT'));
});

test('S-76 who comes too late is not told: the plan is approved, replaced or its task over', async () => {
  await using hook = await webhook(503, 503, 503);
  await using world = await World.start({
    ...silentServices,
    settings: { noticeWebhook: hook.url },
  });
  const taskId = await taskIn(world, 'ESPERANDO_APROBACION_PLAN');
  await until(() => hook.posts.length === 1);
  await world.approve(taskId);
  await until(async () => {
    await world.clock.advance(second);
    return (await noticeStates(world)).includes('NOT_NEEDED');
  });
  assert.equal(hook.posts.length, 1);
});

test('S-76 mail without a mail server is a wrong setting, and the address is not repeated', () => {
  const none = { noticeWebhook: null, noticeWebhookKey: null, noticeMailFrom: 'a@b' };
  const start = (smtpUrl: string | null) => () =>
    noticeChannels({ ...none, smtpUrl, noticeMailTo: 'ana@example.org' });
  assert.throws(start(null), /^.*smtp_url: is missing/);
  assert.throws(start('http://user:hush@host'), (error: Error) => {
    assert.match(error.message, /smtp_url: must begin with/);
    assert.doesNotMatch(error.message, /hush/);
    return true;
  });
});
