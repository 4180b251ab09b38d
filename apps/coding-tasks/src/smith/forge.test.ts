import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from 'capataz/server';
import { gitHubCredential } from '../performer/git-hub-credential.ts';
import { GitHubStandIn } from './fixtures/git-hub-stand-in.ts';
import { Smithy, sumScript } from './fixtures/smithy.ts';
import { branchForge, createGitHubForge, ForgeError } from './forge.ts';

const { signal } = new AbortController();

function forgeAt(standIn: GitHubStandIn) {
  return createGitHubForge({
    ...{ token: 'secret', clock: systemClock, webUrl: standIn.url, apiUrl: standIn.url },
  });
}

function pullOf(standIn: GitHubStandIn) {
  const repository = `${standIn.url}/acme/shop.git`;
  return { repository, branch: 'capataz/t', target: null, title: 'Add', body: 'Body' };
}

test('GitHub (a local stand-in): a pull request is opened once, onto the main branch', async () => {
  await using standIn = await GitHubStandIn.start();
  const forge = forgeAt(standIn);
  const url = await forge.open(pullOf(standIn), signal);
  assert.equal(url, `${standIn.url}/acme/shop/pull/1`);
  assert.equal(await forge.open(pullOf(standIn), signal), url);
  assert.deepEqual(standIn.pulls, [
    { title: 'Add', head: 'capataz/t', base: 'trunk', html_url: url },
  ]);
  assert.ok(standIn.tokens.every((token) => token === 'Bearer secret'));
});

test('GitHub (a local stand-in): refused is told from unreachable, and neither tells the token', async () => {
  await using standIn = await GitHubStandIn.start();
  for (const [status, isRefused] of [
    [422, true],
    [500, false],
    [401, false],
  ] as const) {
    standIn.failing = status;
    await assert.rejects(
      forgeAt(standIn).open(pullOf(standIn), signal),
      (error) =>
        error instanceof ForgeError &&
        error.isRefused === isRefused &&
        !error.message.includes('secret'),
    );
  }
});

test('a repository elsewhere, or no forge at all: the branch is the pull request', async () => {
  await using standIn = await GitHubStandIn.start();
  const pull = { ...pullOf(standIn), repository: '/srv/shop.git' };
  assert.equal(await forgeAt(standIn).open(pull, signal), '/srv/shop.git#capataz/t');
  assert.equal(await branchForge.open(pull, signal), '/srv/shop.git#capataz/t');
  assert.deepEqual(standIn.tokens, []);
});

test('git gets the token by its environment, for that host alone', () => {
  const credential = gitHubCredential({ token: 'secret' });
  assert.equal(credential.GIT_CONFIG_KEY_0, 'http.https://github.com/.extraHeader');
  assert.ok(!JSON.stringify(credential).includes('secret'));
});

test('the smith’s result carries the address of the pull request on the forge', async () => {
  await using standIn = await GitHubStandIn.start();
  await using smithy = new Smithy();
  const repository = `${standIn.url}/acme/shop.git`;
  // The stand-in has no git: the address leads to the repository on the disk.
  const instead = `[url "${smithy.repository}"]\n  insteadOf = ${repository}\n`;
  const environment = {
    ...smithy.place.environment,
    GIT_CONFIG_GLOBAL: smithy.place.write('gitconfig', instead),
  };
  const gitHub = { token: 'secret', webUrl: standIn.url, apiUrl: standIn.url };
  await smithy.start(sumScript, { environment, gitHub });
  await smithy.desk.order('tarea.generar_plan', {
    ...{ prompt: 'Add a sum\n\nPlease.', repositorioOrigen: repository, ramaDestino: 'main' },
  });
  const { payload } = await smithy.desk.next('resultado.plan_generado');
  await smithy.desk.order('tarea.aprobar_plan', { planId: payload.planId });
  const made = await smithy.desk.next('resultado.pr_generada');
  assert.equal(made.payload.pullRequestUrl, `${standIn.url}/acme/shop/pull/1`);
  assert.deepEqual(
    standIn.pulls.map(({ title, head, base }) => [title, head, base]),
    [['Add a sum', 'capataz/task-1', 'main']],
  );
});
