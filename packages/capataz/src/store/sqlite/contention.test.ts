import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { dispatch } from '../../core/action.ts';
import { blueprint } from '../../core/blueprint.ts';
import type { Task } from '../../core/job.ts';
import { createEngine, type Engine } from '../../engine/engine.ts';
import { delay, systemClock } from '../../std/clock.ts';
import { silentLog } from '../../std/log.ts';
import { systemRandom } from '../../std/random.ts';
import { openSqliteStore } from './index.ts';

const tasks = 400;
const workers = 8;
const readerMs = 3_000;
const writerMs = 1_500;

const one = blueprint({
  name: 'one',
  version: 1,
  states: {
    work: {
      start: true,
      to: ['done'],
      handle: () => dispatch('work', {}, { on: { success: 'done' } }),
    },
    done: { end: true },
  },
});

async function takeTasks(engine: Engine, worker: string): Promise<readonly Task[]> {
  await engine.workers.register({
    id: worker,
    type: 'test',
    bootId: worker,
    slots: tasks,
    batch: true,
    heartbeatMs: 60_000,
    hostname: null,
    offer: {
      worker,
      skills: ['work'],
      hotSkills: [],
      devices: [],
      properties: {},
      artifacts: [],
      software: {},
      extra: {},
      costPerSkill: {},
    },
  });
  return engine.workers.poll(worker, { max: tasks / workers, timeoutMs: 10_000 });
}

test('B-087 a backup that reads and a process that writes lose no result', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'capataz-contention-'));
  const store = await openSqliteStore({ folder, clock: systemClock });
  const engine = createEngine({
    store,
    blueprints: [one],
    clock: systemClock,
    random: systemRandom,
    instance: 'test',
    client: (name) => ({ name, plan: null, params: {} }),
    log: silentLog,
  });
  await engine.start();
  const created = await engine.jobs.create(
    Array.from({ length: tasks }, () => ({ blueprint: 'one', client: 'dev', input: {} })),
  );
  const names = Array.from({ length: workers }, (_, index) => `worker-${index}`);
  const taken = await Promise.all(names.map((name) => takeTasks(engine, name)));
  assert.equal(taken.flat().length, tasks);

  const file = join(folder, 'capataz.db');
  const reader = new DatabaseSync(file, { readOnly: true });
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM jobs').get();
  const writer = new DatabaseSync(file);
  writer.exec('BEGIN IMMEDIATE');
  const busy = [
    delay(systemClock, readerMs).then(() => reader.close()),
    delay(systemClock, writerMs).then(() => writer.close()),
  ];
  // One post a result, all at once, while a dashboard looks again and again.
  const posts = taken.flatMap((own, index) =>
    own.map(({ jobId, attempt }) =>
      engine.workers.report(
        names[index] ?? '',
        [{ jobId, attempt: attempt?.id ?? '', report: { data: { done: true } } }],
        0,
      ),
    ),
  );
  const looks = Array.from({ length: 50 }, () => engine.jobs.list({ limit: 100 }));
  const answers = await Promise.all(posts);
  await Promise.all([...looks, ...busy]);

  assert.ok(answers.every(({ answers: [answer] }) => answer?.type === 'accepted'));
  for (const job of created) {
    assert.ok('id' in job);
    const book = await engine.jobs.history(job.id, 0, 100);
    assert.equal(book.at(-1)?.type, 'job_finished');
    assert.deepEqual(
      book.map(({ seq }) => seq),
      book.map((_, index) => index + 1),
    );
  }
  await engine.stop({ drainMs: 1_000 });
  await store.close();
  const wal = statSync(`${file}-wal`, { throwIfNoEntry: false });
  assert.ok(wal === undefined || wal.size === 0, 'the write-ahead file shrinks');
  rmSync(folder, { recursive: true });
});
