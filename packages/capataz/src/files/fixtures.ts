import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { systemClock } from '../std/clock.ts';
import { type Log, silentLog } from '../std/log.ts';
import { systemRandom } from '../std/random.ts';
import type { FilesOptions, OpenedFile } from './contract.ts';
import { LocalFiles, type LocalFilesOptions } from './local-files.ts';

export interface DiskOptions extends Partial<LocalFilesOptions> {
  readonly maxBytes?: number;
  readonly keep?: boolean;
}

/** Files in a folder of their own, which vanishes with them. */
export class Disk implements Disposable {
  readonly folder: string;
  readonly store: LocalFiles;
  readonly options: FilesOptions;

  constructor({ maxBytes = 1_000_000, keep = false, ...options }: DiskOptions = {}) {
    this.folder = options.folder ?? mkdtempSync(join(tmpdir(), 'capataz-disk-'));
    this.store = new LocalFiles({
      clock: systemClock,
      random: systemRandom,
      log: silentLog,
      ...options,
      folder: this.folder,
    });
    this.options = { store: this.store, maxBytes, keep, workFolder: join(this.folder, 'work') };
  }

  at(...parts: readonly string[]): string {
    return join(this.folder, ...parts);
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export async function preparedDisk(options: DiskOptions = {}): Promise<Disk> {
  const disk = new Disk(options);
  await disk.store.prepare();
  return disk;
}

export async function* chunks(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

/** Its text, when it also was closed. */
export async function textOf({ content }: OpenedFile): Promise<string> {
  const closed = once(content, 'close');
  const whole = await text(content);
  await closed;
  return whole;
}

/** So many bytes in pieces of 64 KiB; `onPiece` is awaited before each. */
export async function* zeros(
  size: number,
  onPiece: (sent: number) => void = () => undefined,
): AsyncGenerator<Uint8Array> {
  const piece = 64 * 1024;
  for (let sent = 0; sent < size; sent += piece) {
    onPiece(sent);
    yield Buffer.alloc(Math.min(piece, size - sent));
  }
}

/** A log of which each message that comes can be awaited. */
export class HeardLog {
  readonly log: Log;
  readonly #heard = new Map<string, PromiseWithResolvers<void>>();

  constructor() {
    const hear = (message: string): void => this.#of(message).resolve();
    this.log = { debug: hear, info: hear, warn: hear, error: hear, child: () => this.log };
  }

  heard(message: string): Promise<void> {
    return this.#of(message).promise;
  }

  #of(message: string): PromiseWithResolvers<void> {
    const known = this.#heard.get(message) ?? Promise.withResolvers<void>();
    this.#heard.set(message, known);
    return known;
  }
}
