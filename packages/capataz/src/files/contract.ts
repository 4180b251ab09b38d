import type { Readable } from 'node:stream';

/**
 * # Where the files of jobs are kept
 *
 * Each file belongs to a job and has a name within it (`protocol/files.ts` says which). It appears
 * whole or not at all, and a second one of the same name replaces it whole. Content is streamed in
 * both directions with flat memory. What a job keeps is removed as a whole.
 *
 * The local disk is one place (`local-files.ts`); an object store can be another: keys
 * `jobs/{job_id}/{name}`, a multipart upload that is completed after `confirm`, its own presigned
 * links. Whoever calls has settled who may do what.
 */
export interface JobFiles {
  /**
   * Makes the place usable and clears what a crash left half done. Called once, before anything
   * else. One process at a time uses a local folder, so that whatever is unfinished is nobody's.
   */
  prepare(): Promise<void>;

  /**
   * Durable when it resolves. `content` is read to its end, unless it is too large or fails.
   * @throws FILE_NAME_INVALID, PAYLOAD_TOO_LARGE, FILES_BUSY, FILES_UNAVAILABLE, what `content` and
   * `confirm` throw
   */
  put(
    jobId: string,
    name: string,
    content: AsyncIterable<Uint8Array>,
    options: PutOptions,
  ): Promise<StoredFile>;

  /** @throws FILE_NAME_INVALID, FILE_NOT_FOUND, FILES_BUSY, FILES_UNAVAILABLE */
  get(jobId: string, name: string, options?: TransferOptions): Promise<OpenedFile>;

  /** Ascending by name, in the order of UTF-16 units. A job without files has none. */
  list(jobId: string, page: Page): Promise<readonly ListedFile[]>;

  /** Removes everything of a job; nothing where it has nothing. */
  remove(jobId: string): Promise<void>;

  /** Jobs that have files, ascending by id. */
  jobs(page: Page): Promise<readonly string[]>;

  /** A link that needs no token, for so long. Absent where there is no such thing. */
  link?(jobId: string, name: string, forMs: number): Promise<FileLink>;

  /** What a link of this place names, where our own server serves it. @throws LINK_INVALID */
  redeem?(link: RedeemedLink): Promise<void>;
}

export interface TransferOptions {
  /** With as many transfers under way as may be: FILES_BUSY (default), or wait for one to end. */
  readonly whenBusy?: 'refuse' | 'wait';
  /** Ends the transfer, and the wait for it. */
  readonly signal?: AbortSignal;
}

export interface PutOptions extends TransferOptions {
  readonly maxBytes: number;
  /**
   * Asked when all has arrived and nothing is visible yet; what it throws undoes the upload. By then
   * the job may have ended, or the attempt been given up.
   */
  readonly confirm?: () => Promise<void>;
}

export interface StoredFile {
  readonly path: string;
  readonly size: number;
}

export interface ListedFile extends StoredFile {
  /** Ms since 1970 UTC. */
  readonly modifiedAt: number;
}

/** Counts as a transfer until `content` is closed: read it to its end, or destroy it. */
export interface OpenedFile {
  readonly size: number;
  readonly content: Readable;
}

export interface Page {
  /** What the page before ended with; empty for the first one. */
  readonly after: string;
  readonly limit: number;
}

export interface FileLink {
  /** Absolute, or a path of our own server. */
  readonly url: string;
  readonly expiresAt: number;
}

export interface RedeemedLink {
  readonly jobId: string;
  readonly name: string;
  readonly expires: string;
  readonly signature: string;
}

/** What a server does with the files of its jobs. */
export interface FilesOptions {
  readonly store: JobFiles;
  /** Largest file, in bytes. */
  readonly maxBytes: number;
  /** Whether an ended job keeps its files. A quarantined one does in any case. */
  readonly keep: boolean;
  /** For the local copies of `run` handlers. It is emptied at the start. */
  readonly workFolder: string;
}

/** Default of `maxBytes`: 1 GiB. */
export const defaultMaxFileBytes = 1024 ** 3;
/** Default number of transfers at once. */
export const defaultMaxTransfers = 20;
