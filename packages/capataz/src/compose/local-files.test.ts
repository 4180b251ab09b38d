import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/settings.ts';
import { systemClock } from '../std/clock.ts';
import { silentLog } from '../std/log.ts';
import { systemRandom } from '../std/random.ts';
import { localFiles, sweepScratch } from './local-files.ts';

const day = 24 * 3_600_000;

function withFolder(body: (config: Config) => Promise<void>): () => Promise<void> {
  return async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'capataz-scratch-'));
    const environment = { CAPATAZ_STORE_URL: 'postgres://u@h/d', CAPATAZ_DATA_DIR: dataDir };
    try {
      await body(loadConfig({ flags: {}, environment, directory: dataDir }).values);
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  };
}

const parts = { clock: systemClock, random: systemRandom, log: silentLog };

test(
  'A-60 two instances: one that starts clears away nothing that another is at',
  withFolder(async (config) => {
    const [one, two] = ['one', 'two'].map((instance) => localFiles({ config, instance, ...parts }));
    await one?.files.store.prepare();
    const incoming = join(config.dataDir, 'files/instances/one/incoming/half');
    writeFileSync(incoming, 'x');
    await two?.files.store.prepare();
    assert.ok(existsSync(incoming));
  }),
);

test(
  'A-60 two instances: they sign links with one key, whoever makes it',
  withFolder(async (config) => {
    for (let round = 0; round < 20; round += 1) {
      rmSync(join(config.dataDir, 'files'), { recursive: true, force: true });
      mkdirSync(join(config.dataDir, 'files'));
      const keys = ['one', 'two', 'three'].map(
        (instance) => localFiles({ config, instance, ...parts }).linkKey,
      );
      const signed = await Promise.all(keys.map((key) => key.sign(['a'])));
      assert.equal(new Set(signed).size, 1);
    }
  }),
);

test(
  'A-58 scratch folders of instances that are gone for a day are removed',
  withFolder(async (config) => {
    const instances = join(config.dataDir, 'files/instances');
    const now = Date.parse('2026-11-28T12:00:00Z');
    for (const [name, ageMs] of [
      ['old', 2 * day],
      ['young', day / 2],
    ] as const) {
      mkdirSync(join(instances, name, 'incoming'), { recursive: true });
      const at = (now - ageMs) / 1_000;
      for (const path of ['incoming', '.']) utimesSync(join(instances, name, path), at, at);
    }
    await sweepScratch(config, now);
    assert.equal(existsSync(join(instances, 'old')), false);
    assert.ok(existsSync(join(instances, 'young')));
  }),
);
