import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createClient } from 'capataz/client';
import type { EventSink } from '../engine/relay.ts';
import { firesAt } from '../metrics/fixtures/alert-rules.ts';
import { scrape } from '../metrics/fixtures/scenes.ts';
import type { OutboxEvent } from '../store/contract.ts';
import { ask } from '../testing/ask.ts';
import { type ServedEngine, serveEngine } from '../testing/served-engine.ts';
import { speakingBlueprint } from '../testing/speaking-blueprint.ts';
import { type Ran, removeFolder, runIn, temporaryFolder } from './fixtures/context.ts';

const folder = temporaryFolder();
after(() => removeFolder(folder));

const minute = 60_000;
const access = {
  clients: ['ana', 'bob'].map((name) => ({ name, token: `${name}-token-long-enough` })),
  workers: null,
  commonWorkerToken: null,
};

const speaker = speakingBlueprint('orders', 'paid', 'shipped');

/** A bus that refuses one kind of event until it is told otherwise. */
class PickySink implements EventSink {
  refused: string | null = 'paid';
  readonly taken: OutboxEvent[] = [];

  async publish(event: OutboxEvent): Promise<void> {
    if (event.name === this.refused) throw new Error(`no queue takes\n${event.name}`);
    this.taken.push(event);
  }

  pausedForMs(): null {
    return null;
  }

  get names(): string[] {
    return this.taken.map(({ name }) => name);
  }
}

interface Parts {
  readonly served: ServedEngine;
  readonly sink: PickySink;
  readonly capataz: (...args: string[]) => Promise<Ran>;
  readonly start: () => Promise<string>;
}

async function serve(work: (parts: Parts) => Promise<void>): Promise<void> {
  const sink = new PickySink();
  await using served = await serveEngine({ blueprints: [speaker], sink });
  const { jobs } = createClient({ url: served.url });
  await work({
    served,
    sink,
    capataz: (...args) => runIn(folder, [...args, '--url', served.url]),
    start: async () => (await jobs.start('speaker')).jobId,
  });
}

/** As long as it takes to give an event up: 5, 10, 20, 40 and 80 s, a tenth more at most. */
const untilGivenUp = 3 * minute;

test('H-39 H-41 H-48 a refused kind of event ends in the dead letters, the others flow, the alert fires; a redrive delivers and clears it', () =>
  serve(async ({ served, sink, capataz, start }) => {
    const sizes: number[] = [];
    const passMinutes = async (count: number): Promise<void> => {
      for (let passed = 0; passed < count; passed += 1) {
        sizes.push((await scrape(served)).values.get('dlq_size') ?? Number.NaN);
        await served.clock.advance(minute);
      }
    };
    await passMinutes(5);
    const ids = [await start(), await start()];
    await passMinutes(20);
    assert.deepEqual(sink.names, ['shipped', 'shipped']);
    sink.refused = null;
    const redriven = await capataz('dlq', 'redrive', '--all');
    assert.equal(redriven.stdout, '2 events are redriven\n', redriven.stderr);
    await passMinutes(36);
    assert.deepEqual(sink.names, ['shipped', 'shipped', 'paid', 'paid']);
    assert.deepEqual(new Set(sink.taken.map(({ jobId }) => jobId)), new Set(ids));
    const series = { name: 'dlq_size', at: (at: number) => sizes[at] ?? Number.NaN };
    const fired = firesAt('DLQNotEmpty', [series]);
    assert.deepEqual([fired[0], fired.at(-1)], [9, 24]);
  }));

test('H-40 H-41 dead letters are listed and shown, and resolved with notes', () =>
  serve(async ({ served, capataz, start }) => {
    const id = await start();
    await served.clock.advance(untilGivenUp);
    const list = await capataz('dlq', 'list');
    const [, event = ''] = /^EVENT .*\n(\S+) +paid +\S+ +6 +/.exec(list.stdout) ?? [];
    assert.match(list.stdout, /no queue takes paid\n$/);
    const { stdout: shown } = await capataz('dlq', 'show', event);
    assert.match(
      shown,
      new RegExp(`^event +${event}\\nname +paid\\nexchange +orders\\njob +${id}\\n`),
    );
    assert.match(shown, /given up +\S+ \S+ UTC, after 6 tries\n/);
    assert.ok(shown.endsWith(`{\n  "job": "${id}"\n}\n`));
    const resolved = await capataz('dlq', 'resolve', event, '--notes', 'sent by hand');
    assert.equal(resolved.stdout, '1 event is resolved\n');
    assert.deepEqual(JSON.parse((await capataz('dlq', 'list', '--json')).stdout), {
      dead_letters: [],
      next: null,
    });
    const all = await capataz('dlq', 'list', '--resolved', '--name', 'paid', '--job', id);
    assert.match(all.stdout, /resolved: sent by hand\n$/);
    assert.match((await capataz('dlq', 'show', event)).stdout, /^resolved .* by dev\nnotes +sent/m);
    const again = await capataz('dlq', 'redrive', event);
    assert.equal(again.code, 4);
    assert.match(again.stderr, /DEAD_LETTER_NOT_FOUND: no unresolved dead letter: \S+/);
    assert.equal((await capataz('dlq', 'show', 'nobody')).code, 4);
  }));

test('what dlq is to settle has to be said, in one way', () =>
  serve(async ({ capataz }) => {
    for (const args of [[], ['x', '--all'], ['x', '--name', 'paid']]) {
      for (const verb of ['redrive', 'resolve'])
        assert.equal((await capataz('dlq', verb, ...args)).code, 2);
    }
    const none = await capataz('dlq', 'resolve', '--all', '--json');
    assert.deepEqual(JSON.parse(none.stdout), { ids: [] });
  }));

test('A-47 H-41 dead letters are seen and settled by their own client alone', async () => {
  const sink = new PickySink();
  await using served = await serveEngine({ blueprints: [speaker], sink, access });
  const [ana, bob] = ['ana', 'bob'].map((name) =>
    createClient({ url: served.url, token: `${name}-token-long-enough` }),
  );
  assert.ok(ana !== undefined && bob !== undefined);
  await ana.jobs.start('speaker');
  await served.clock.advance(untilGivenUp);
  const [letter] = (await ana.deadLetters.list()).dead_letters;
  const id = letter?.id ?? '';
  assert.deepEqual((await bob.deadLetters.list({ resolved: true })).dead_letters, []);
  await assert.rejects(bob.deadLetters.get(id), { code: 'DEAD_LETTER_NOT_FOUND' });
  assert.deepEqual(await bob.deadLetters.redrive([id]), []);
  assert.deepEqual(await bob.deadLetters.resolve([id]), []);
  assert.deepEqual(await ana.deadLetters.resolve([id, 'nobody'], { notes: 'fine' }), [id]);
  assert.partialDeepStrictEqual(await ana.deadLetters.get(id), {
    resolved_by: 'ana',
    notes: 'fine',
  });
  const unnamed = await ask(served.url, 'POST /api/v1/dead-letters/redrive', {
    headers: { 'x-client-token': 'ana-token-long-enough' },
    body: { ids: [] },
  });
  assert.equal(unnamed.status, 400);
});
