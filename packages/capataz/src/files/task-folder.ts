import { createReadStream, createWriteStream, mkdirSync } from 'node:fs';
import { mkdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import {
  type FileContent,
  fileNameParts,
  type TaskFiles,
  type UploadAnswer,
} from '../protocol/files.ts';
import type { JsonValue } from '../std/json.ts';

/** Where the files of one job are, near or far. */
export interface RemoteFiles {
  /** @throws FILE_NOT_FOUND */
  get(name: string): Promise<AsyncIterable<Uint8Array>>;
  put(name: string, upload: Upload): Promise<UploadAnswer>;
}

/** What is sent. It can be read again, so that an upload that was refused can be repeated. */
export interface Upload {
  readonly size: number;
  readonly open: () => AsyncIterable<Uint8Array>;
}

/** `TaskFiles` on a folder for local copies, which is made when it is first needed. */
export class TaskFolder implements TaskFiles {
  readonly #folder: string;
  readonly #remote: RemoteFiles;
  #isMade = false;
  #streams = 0;

  constructor(folder: string, remote: RemoteFiles) {
    this.#folder = folder;
    this.#remote = remote;
  }

  path(name: string): string {
    const path = join(this.#copies(), ...fileNameParts(name));
    // So that another program can write there at once.
    mkdirSync(dirname(path), { recursive: true });
    return path;
  }

  async download(name: string): Promise<string> {
    const path = this.path(name);
    try {
      await pipeline(await this.#remote.get(name), createWriteStream(path, { mode: 0o600 }));
    } catch (error) {
      // Half a file must not look like one.
      await rm(path, { force: true });
      throw error;
    }
    return path;
  }

  async upload(name: string, content?: FileContent): Promise<UploadAnswer> {
    fileNameParts(name);
    if (content === undefined) return this.#uploadFile(name, this.path(name));
    if (typeof content === 'string') return this.#uploadBytes(name, Buffer.from(content));
    if (content instanceof Uint8Array) return this.#uploadBytes(name, content);
    return this.#uploadStream(name, content);
  }

  async readJson(name: string): Promise<JsonValue> {
    const path = await this.download(name);
    return JSON.parse(await readFile(path, 'utf8')) as JsonValue;
  }

  writeJson(name: string, value: JsonValue): Promise<UploadAnswer> {
    return this.upload(name, JSON.stringify(value));
  }

  /** Removes the local copies. */
  async close(): Promise<void> {
    if (this.#isMade) await rm(this.#folder, { recursive: true, force: true });
    this.#isMade = false;
  }

  async #uploadFile(name: string, path: string): Promise<UploadAnswer> {
    const { size } = await stat(path);
    return this.#remote.put(name, { size, open: () => createReadStream(path) });
  }

  #uploadBytes(name: string, bytes: Uint8Array): Promise<UploadAnswer> {
    return this.#remote.put(name, { size: bytes.length, open: () => oneChunk(bytes) });
  }

  /** By way of the disk: a stream can be read but once, and an upload may have to be repeated. */
  async #uploadStream(name: string, content: AsyncIterable<Uint8Array>): Promise<UploadAnswer> {
    this.#streams += 1;
    this.#copies();
    const folder = join(this.#folder, 'streams');
    const path = join(folder, String(this.#streams));
    await mkdir(folder, { recursive: true });
    try {
      await pipeline(content, createWriteStream(path, { mode: 0o600 }));
      return await this.#uploadFile(name, path);
    } finally {
      await rm(path, { force: true });
    }
  }

  /** Beside the streams, so that no name of a file can meet them. */
  #copies(): string {
    if (!this.#isMade) mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    this.#isMade = true;
    return join(this.#folder, 'files');
  }
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
