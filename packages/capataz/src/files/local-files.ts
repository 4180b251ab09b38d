import { constants, existsSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { addAbortSignal } from 'node:stream';
import { CapatazError } from '../protocol/errors.ts';
import { fileNameParts } from '../protocol/files.ts';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { Random } from '../std/random.ts';
import {
  defaultMaxTransfers,
  type FileLink,
  type JobFiles,
  type ListedFile,
  type OpenedFile,
  type Page,
  type PutOptions,
  type RedeemedLink,
  type StoredFile,
  type TransferOptions,
} from './contract.ts';
import { LinkKey, LinkSigner } from './links.ts';
import {
  enterFolder,
  filesBelow,
  makeFolder,
  noSuchFile,
  pageOfFolders,
  syncFolder,
  systemCode,
} from './local-folders.ts';
import { TransferSlots } from './transfers.ts';

export interface LocalFilesOptions {
  readonly folder: string;
  /**
   * For what is not yet, or no longer, a file: of this process alone, in the same file system. Default:
   * the folder, which then is of this process alone, too.
   */
  readonly scratch?: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Default 20. */
  readonly maxTransfers?: number;
  /** Signs links. Default: `link.key` in the folder. */
  readonly linkKey?: LinkKey;
}

/** Where the key of the links is kept in the folder of the files. */
export function linkKeyIn(folder: string, random: Random): LinkKey {
  return LinkKey.inFile(join(folder, 'link.key'), random);
}

/** The disk, not the name, is what is wrong. */
const diskTroubles = ['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EACCES', 'EPERM', 'EMFILE', 'ENFILE'];

/**
 * Files on the local disk, in one folder:
 * - `jobs/{job_id}/…` what is stored;
 * - `link.key` signs links.
 *
 * And in the scratch folder:
 * - `incoming/` uploads that are under way, which `rename` moves to their place when they are whole;
 * - `removed/` what is being deleted: first moved as a whole, so that no half of it is ever seen.
 */
export class LocalFiles implements JobFiles {
  readonly #options: LocalFilesOptions;
  readonly #jobs: string;
  readonly #incoming: string;
  readonly #removed: string;
  readonly #slots: TransferSlots;
  readonly #signer: LinkSigner;

  constructor(options: LocalFilesOptions) {
    const { folder, random, maxTransfers = defaultMaxTransfers, scratch = folder } = options;
    const { linkKey = linkKeyIn(folder, random) } = options;
    this.#options = options;
    this.#jobs = join(folder, 'jobs');
    this.#incoming = join(scratch, 'incoming');
    this.#removed = join(scratch, 'removed');
    this.#slots = new TransferSlots(maxTransfers);
    this.#signer = new LinkSigner(linkKey);
  }

  /** Slots that no transfer holds. */
  get freeTransfers(): number {
    return this.#slots.free;
  }

  async prepare(): Promise<void> {
    for (const folder of [this.#incoming, this.#removed]) {
      await rm(folder, { recursive: true, force: true });
      await mkdir(folder, { recursive: true, mode: 0o700 });
    }
    await mkdir(this.#jobs, { recursive: true, mode: 0o700 });
  }

  async put(
    jobId: string,
    name: string,
    content: AsyncIterable<Uint8Array>,
    options: PutOptions,
  ): Promise<StoredFile> {
    const parts = [folderOf(jobId), ...fileNameParts(name)];
    const release = await this.#slots.take(options);
    const temporary = join(this.#incoming, this.#options.random.id());
    try {
      const size = await writeDurably(temporary, limited(content, options));
      await options.confirm?.();
      options.signal?.throwIfAborted();
      await this.#publish(temporary, parts);
      return { path: name, size };
    } catch (error) {
      throw this.#refusal(error, name, 'a file could not be stored');
    } finally {
      // Once it has its place, there is nothing left here.
      await rm(temporary, { force: true });
      release();
    }
  }

  async #publish(temporary: string, parts: readonly string[]): Promise<void> {
    const { folder, changed } = await makeFolder(this.#jobs, parts.slice(0, -1));
    await rename(temporary, join(folder, parts.at(-1) ?? ''));
    for (const parent of new Set([...changed, folder])) await syncFolder(parent);
  }

  async get(jobId: string, name: string, options: TransferOptions = {}): Promise<OpenedFile> {
    const parts = [folderOf(jobId), ...fileNameParts(name)];
    const release = await this.#slots.take(options);
    try {
      const folder = await enterFolder(this.#jobs, parts.slice(0, -1));
      const { handle, size } = await openFile(join(folder, parts.at(-1) ?? ''), name);
      const content = handle.createReadStream();
      content.once('close', release);
      if (options.signal !== undefined) addAbortSignal(options.signal, content);
      return { size, content };
    } catch (error) {
      release();
      if (isAbsence(error)) throw noSuchFile(name);
      throw this.#refusal(error, name, 'a file could not be read');
    }
  }

  async list(jobId: string, { after, limit }: Page): Promise<readonly ListedFile[]> {
    const files: ListedFile[] = [];
    try {
      const folder = await enterFolder(this.#jobs, [folderOf(jobId)]);
      for await (const file of filesBelow(folder, after)) {
        files.push(file);
        if (files.length >= limit) break;
      }
    } catch (error) {
      // Also when it is removed meanwhile.
      if (!isAbsence(error)) throw this.#refusal(error, '', 'files could not be listed');
    }
    return files;
  }

  async remove(jobId: string): Promise<void> {
    const folder = join(this.#jobs, folderOf(jobId));
    // Most jobs have none, and are asked for all the same when they end: 2 µs instead of 40.
    if (!existsSync(folder)) return;
    const doomed = join(this.#removed, this.#options.random.id());
    try {
      await rename(folder, doomed);
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return;
      throw error;
    }
    await rm(doomed, { recursive: true, force: true });
  }

  jobs(page: Page): Promise<readonly string[]> {
    return pageOfFolders(this.#jobs, page);
  }

  async link(jobId: string, name: string, forMs: number): Promise<FileLink> {
    fileNameParts(name);
    return this.#signer.link(jobId, name, this.#options.clock.now() + forMs);
  }

  redeem(link: RedeemedLink): Promise<void> {
    return this.#signer.check(link, this.#options.clock.now());
  }

  /** An error of the system in the words of the catalogue; any other as it is. */
  #refusal(error: unknown, name: string, what: string): unknown {
    const code = systemCode(error);
    if (diskTroubles.includes(code)) {
      this.#options.log.error(what, { error });
      const message = `the disk of the files refuses it (${code})`;
      return new CapatazError('FILES_UNAVAILABLE', message, undefined, error);
    }
    if (!['EISDIR', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST', 'ELOOP', 'ENAMETOOLONG'].includes(code)) {
      return error;
    }
    const message = 'a file, a folder or a link is in the way of this name';
    return new CapatazError('FILE_NAME_INVALID', message, { file: name }, error);
  }
}

/** Ids that callers gave are UUIDs, and our own, too: whatever else it is has no folder. */
function folderOf(jobId: string): string {
  if (/^[\w-]{1,100}$/.test(jobId)) return jobId;
  throw new CapatazError('JOB_NOT_FOUND', 'this is no id of a job');
}

function isAbsence(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(systemCode(error));
}

async function* limited(
  content: AsyncIterable<Uint8Array>,
  { maxBytes, signal }: PutOptions,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of content) {
    signal?.throwIfAborted();
    size += chunk.length;
    if (size > maxBytes) {
      throw new CapatazError('PAYLOAD_TOO_LARGE', `a file has at most ${maxBytes} bytes`);
    }
    yield chunk;
  }
}

async function writeDurably(path: string, content: AsyncIterable<Uint8Array>): Promise<number> {
  const handle = await open(path, 'wx', 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
    return (await handle.stat()).size;
  } finally {
    await handle.close();
  }
}

/** Follows no link, and waits for no pipe. */
async function openFile(
  path: string,
  name: string,
): Promise<{ readonly handle: FileHandle; readonly size: number }> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(path, flags);
  const found = await handle.stat().catch(() => null);
  if (found?.isFile()) return { handle, size: found.size };
  await handle.close();
  throw noSuchFile(name);
}
