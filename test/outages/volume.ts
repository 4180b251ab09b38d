import { spawnSync } from 'node:child_process';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PrivatePostgres } from '../../packages/capataz/src/testing/private-postgres.ts';
import { asOperator, type Outage } from './kinds.ts';

const sizeMb = 160;
const blockBytes = 1024 * 1024;

/**
 * A small volume for the data of a server, that can be filled. Only root may mount one; for everybody
 * else it is a folder, and the server says by itself that its disk is full.
 */
export class Volume {
  readonly folder: string;
  readonly #isMounted: boolean;

  private constructor(folder: string, isMounted: boolean) {
    this.folder = folder;
    this.#isMounted = isMounted;
  }

  static async mount(): Promise<Volume> {
    const folder = await mkdtemp(join(tmpdir(), 'capataz-volume-'));
    const args = ['-t', 'tmpfs', '-o', `size=${sizeMb}m,mode=755`, 'tmpfs', folder];
    return new Volume(folder, spawnSync('mount', args).status === 0);
  }

  async close(): Promise<void> {
    if (this.#isMounted) spawnSync('umount', [this.folder]);
    await rm(this.folder, { recursive: true, force: true });
  }

  outage(postgres: PrivatePostgres): Outage {
    const begin = this.#isMounted ? () => this.#fill(postgres) : () => pretendFull(postgres.url);
    // The server ends and starts again by itself where it can't write, and finds a little room.
    return { name: 'the volume is full', lastsMs: 2_000, comesAndGoes: true, begin };
  }

  async #fill(postgres: PrivatePostgres): Promise<() => Promise<void>> {
    const ballast = join(this.folder, 'ballast');
    const file = await open(ballast, 'w');
    try {
      const block = Buffer.alloc(blockBytes);
      for (let bytes = block; bytes.length > 0; ) {
        // The last blocks are filled in smaller and smaller pieces.
        const isWritten = await file.appendFile(bytes).then(
          () => true,
          () => false,
        );
        if (!isWritten) bytes = bytes.subarray(0, Math.floor(bytes.length / 2));
      }
    } finally {
      await file.close();
    }
    return async () => {
      await rm(ballast);
      // Where the log of writes has no room either, it gives up and waits for an operator.
      if (!postgres.isRunning) await postgres.start();
    };
  }
}

async function pretendFull(url: string): Promise<() => Promise<void>> {
  const tables = ['history', 'memos'];
  await asOperator(url, [
    `CREATE FUNCTION capataz.fill() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE 'no space left' USING ERRCODE = 'disk_full'; END $$`,
    ...tables.map(
      (table) =>
        `CREATE TRIGGER full_disk BEFORE INSERT ON capataz.${table} EXECUTE FUNCTION capataz.fill()`,
    ),
  ]);
  return () =>
    asOperator(
      url,
      tables.map((table) => `DROP TRIGGER full_disk ON capataz.${table}`),
    );
}
