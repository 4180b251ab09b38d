/** Signals, approvals and dead letters, on a server that is somewhere else. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createClient } from 'capataz/client';
import { dispatch } from '../core/action.ts';
import { blueprint } from '../core/blueprint.ts';
import { child, parallel } from '../core/wait-actions.ts';
import { parkedBlueprint } from '../testing/parked-blueprint.ts';
import { reviewBlueprint } from '../testing/review-blueprint.ts';
import { type ServedEngine, serveEngine } from '../testing/served-engine.ts';
import { type Ran, removeFolder, runIn, temporaryFolder } from './fixtures/context.ts';

const folder = temporaryFolder();
after(() => removeFolder(folder));

const splits = blueprint({
  name: 'splits',
  version: 1,
  states: {
    split: {
      start: true,
      to: ['merge'],
      handle: () =>
        parallel(
          [1, 2].map((n) => dispatch('raed', { n }, { on: { success: 'merge' } })),
          { to: 'merge' },
        ),
    },
    merge: { aggregate: true, end: true },
  },
});

const parent = blueprint({
  name: 'parent',
  version: 1,
  states: {
    begin: {
      start: true,
      to: ['done'],
      handle: () => child('splits', {}, { on: { success: 'done' } }),
    },
    done: { end: true },
  },
});

interface Served {
  readonly served: ServedEngine;
  readonly capataz: (...args: string[]) => Promise<Ran>;
  readonly start: (name: string, input?: object) => Promise<string>;
}

async function serve(work: (parts: Served) => Promise<void>): Promise<void> {
  await using served = await serveEngine({
    blueprints: [reviewBlueprint, parkedBlueprint, splits, parent],
  });
  const { jobs } = createClient({ url: served.url });
  await work({
    served,
    capataz: (...args) => runIn(folder, [...args, '--url', served.url]),
    start: async (name, input = {}) => {
      const { jobId } = await jobs.start(name, { ...input });
      await served.clock.advance(0);
      return jobId;
    },
  });
}

function ok({ code, stdout, stderr }: Ran): string {
  assert.equal(code, 0, stderr);
  return stdout;
}

test('A-15: approvals are listed, shown and decided with who and why', () =>
  serve(async ({ capataz, start, served }) => {
    const id = await start('review', { plan: { steps: 3 }, revision: 'r1' });
    const list = ok(await capataz('approvals', 'list'));
    assert.match(
      list,
      new RegExp(`^JOB .*\\n${id} +review +2026\\S+ \\S+ +approved,rejected +Shall`),
    );
    const shown = ok(await capataz('approvals', 'show', id));
    assert.match(shown, /^revision +r1\ndecisions +approved, rejected\n/m);
    assert.match(shown, /\{\n {2}"steps": 3\n\}\n$/);
    const args = ['approvals', 'approve', id, '--comment', 'fine', '--as', 'Ana'];
    assert.match(
      ok(await capataz(...args)),
      /^approved: it is decided; job \S+ is finished in done\n$/,
    );
    const { result } = (await served.store.job(id)) ?? {};
    assert.partialDeepStrictEqual(result, { data: { approver: 'Ana', comment: 'fine' } });
    const again = await capataz(...args);
    assert.equal(again.code, 4);
    assert.match(again.stderr, /error DECISION_REFUSED: .* is finished and asks nobody/);
  }));

test('A-31: why tells of signals and of each deadline what it means', () =>
  serve(async ({ capataz, start }) => {
    const why = ok(await capataz('why', await start('review')));
    assert.match(
      why,
      /^it waits for a person .*; its deadline is in 2h; it takes signals revised, /,
    );
    assert.match(why, /\nescalates at 2026-\S+ \S+ UTC\nin all until 2026-\S+ \S+ UTC\n$/);
  }));

test('A-31: why tells of a fan-out and of a child what keeps them', () =>
  serve(async ({ capataz, start }) => {
    const fanOut = ok(await capataz('why', await start('splits')));
    assert.match(
      fanOut,
      /\ntasks "raed": 2 without a worker\nno worker is connected: start one with `capataz worker/,
    );
    const id = await start('parent');
    const line =
      /^(?:child +)?child \S+ is waiting_for_parallel in split: it waits for 2 of 2 tasks/m;
    assert.match(ok(await capataz('why', id)), line);
    assert.match(ok(await capataz('jobs', 'show', id)), line);
  }));

test('A-15: what is shown cannot steer the terminal', () =>
  serve(async ({ capataz, start }) => {
    const id = await start('review', { plan: 'harmless\u001b[2Jgone' });
    assert.match(ok(await capataz('approvals', 'show', id)), /\nharmless\ufffd\[2Jgone\n$/);
  }));

test('A-15: other decisions, as JSON, and a link', () =>
  serve(async ({ capataz, start }) => {
    const id = await start('review');
    const unknown = await capataz('approvals', 'decide', id, 'perhaps');
    assert.equal(unknown.code, 4);
    assert.match(unknown.stderr, /error DECISION_REFUSED: The wait knows no such decision/);
    const approval = JSON.parse(ok(await capataz('approvals', 'show', id, '--json')));
    assert.deepEqual(approval.decisions, ['approved', 'rejected']);
    const link = ok(await capataz('approvals', 'link', id, '--expires-in', '1h')).trim();
    assert.match(await (await fetch(link)).text(), /Shall we/);
    const wrong = await capataz('approvals', 'link', id, '--expires-in', '10');
    assert.equal(wrong.code, 2);
    const decided = JSON.parse(
      ok(await capataz('approvals', 'decide', id, 'rejected', '--data', '{"a":1}', '--json')),
    );
    assert.partialDeepStrictEqual(decided, { repeated: false, job: { status: 'failed' } });
    assert.deepEqual(JSON.parse(ok(await capataz('approvals', 'list', '--json'))).approvals, []);
  }));

test('S-59: a signal is sent, and one that nobody expects is refused', () =>
  serve(async ({ capataz, start, served }) => {
    const id = await start('review');
    const args = ['jobs', 'signal', id, 'revised', '--id', 's1', '--data', '{"n":1}'];
    assert.equal(ok(await capataz(...args)), 'signal s1 accepted\n');
    const again = JSON.parse(ok(await capataz(...args, '--json')));
    assert.deepEqual(again, { status: 'accepted', id: 's1' });
    const book = await served.store.history(id, 0, 100);
    assert.equal(book.filter(({ type }) => type === 'signal_taken').length, 1);
    const refused = await capataz('jobs', 'signal', id, 'other');
    assert.equal(refused.code, 4);
    assert.match(refused.stderr, /error SIGNAL_REFUSED: .*\n {2}`capataz why <job>`/);
    assert.match(refused.stderr, /It takes revised, withdrawn/);
    const mistyped = await capataz('jobs', 'signal', id, 'revisde');
    assert.match(mistyped.stderr, /did you mean revised\?/);
    assert.match(
      ok(await capataz('jobs', 'history', id)),
      /signal_refused .*signal_not_expected {2}signal other {2}by dev\n/,
    );
    assert.equal((await capataz('jobs', 'signal', id, 'revised', '--data', '{')).code, 2);
  }));

test('A-25: quarantined jobs are listed, shown, redriven and dismissed', () =>
  serve(async ({ capataz, start, served }) => {
    const id = await start('parked');
    await start('review');
    const quarantined = ['jobs', 'list', '--status', 'quarantined'];
    const list = ok(await capataz(...quarantined));
    assert.match(
      list,
      new RegExp(
        `^ID .*ERROR\\n${id} +parked +work +quarantined +\\S+ \\S+ +HANDLER\\S+ no luck\\n$`,
      ),
    );
    const why = ok(await capataz('why', id));
    assert.match(
      why,
      /\n`capataz jobs redrive \S+` lets it .*\n`capataz jobs dismiss \S+` gives it/,
    );
    assert.match(ok(await capataz('jobs', 'show', id)), /^redrive +handler of state work$/m);
    assert.match(ok(await capataz('jobs', 'redrive', id)), /^job \S+ \w+ in work\n$/);
    await served.clock.advance(0);
    const { jobs } = JSON.parse(ok(await capataz(...quarantined, '--json')));
    assert.equal(jobs[0]?.id, id);
    const dismissed = ok(await capataz('jobs', 'dismiss', id, '--reason', 'old'));
    assert.match(dismissed, /^job \S+ failed in/);
    const { history } = JSON.parse(ok(await capataz('jobs', 'history', id, '--json')));
    assert.partialDeepStrictEqual(history.at(-2), { type: 'job_dismissed', reason: 'old' });
    assert.equal((await capataz('jobs', 'redrive', id)).code, 4);
  }));

test('S-33: a start has a concurrency key, and a listing looks for attributes', () =>
  serve(async ({ capataz }) => {
    const start = (...args: string[]) =>
      capataz('jobs', 'start', 'review', '--concurrency-key', 'k', ...args);
    const attributes = ['--attributes', '{"team":"blue","level":7}'];
    const id = ok(await start('--concurrency-limit', '1', ...attributes)).trim();
    const skipped = await start('--concurrency-limit', '1', '--on-busy', 'skip');
    assert.equal(skipped.code, 4);
    assert.match(skipped.stderr, /error SKIPPED: /);
    assert.equal((await start()).code, 2);
    assert.equal((await start('--concurrency-limit', '1', '--on-busy', 'wait')).code, 2);
    const found = async (...args: string[]): Promise<unknown> =>
      JSON.parse(ok(await capataz('jobs', 'list', '--json', ...args))).jobs;
    const both = await found('--attr', 'team=blue', '--attr', 'level=7');
    assert.partialDeepStrictEqual(both, [{ id }]);
    assert.deepEqual(await found('--attr', 'level="7"'), []);
    assert.equal((await capataz('jobs', 'list', '--attr', 'team')).code, 2);
    assert.match(ok(await capataz('jobs', 'show', id)), /^concurrency +k, at most 1, else queue$/m);
  }));
