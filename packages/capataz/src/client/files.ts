import {
  encodedFileName,
  type FileContent,
  type FileLinkAnswer,
  type FilesAnswer,
  type FileView,
  type UploadAnswer,
} from '../protocol/files.ts';
import type { Http } from './http.ts';

export interface TransferSignal {
  /** Ends the transfer. */
  readonly signal?: AbortSignal;
}

export interface DownloadedFile {
  /** Bytes; null where a proxy has taken the length away. */
  readonly size: number | null;
  /** Read it to its end, or cancel it: it holds one of the server's transfers. */
  readonly content: ReadableStream<Uint8Array>;
}

/** Files of jobs. Every method throws CapatazError with the server's code, or UNREACHABLE. */
export interface Files {
  /**
   * Stored when it resolves. A stream can't be sent twice, so that only text and bytes are tried
   * again after a failure. @throws JOB_NOT_FOUND, ALREADY_FINAL, FILE_NAME_INVALID, PAYLOAD_TOO_LARGE
   */
  upload(
    jobId: string,
    name: string,
    content: FileContent,
    options?: TransferSignal,
  ): Promise<UploadAnswer>;
  /** @throws JOB_NOT_FOUND, FILE_NOT_FOUND */
  download(jobId: string, name: string, options?: TransferSignal): Promise<DownloadedFile>;
  /** All files of a job, by name. @throws JOB_NOT_FOUND */
  list(jobId: string): AsyncIterable<FileView>;
  /** A URL for a download without a token, good for 300 s or so long. @throws JOB_NOT_FOUND */
  link(
    jobId: string,
    name: string,
    options?: { readonly expiresInSeconds?: number },
  ): Promise<FileLinkAnswer>;
}

export function createFiles(http: Http): Files {
  return {
    async upload(jobId, name, content, { signal } = {}) {
      const isRepeatable = typeof content === 'string' || content instanceof Uint8Array;
      const answer = await http.transfer(
        {
          method: 'PUT',
          path: pathOf(jobId, name),
          content,
          headers: { 'Content-Type': 'application/octet-stream' },
          retry: isRepeatable ? 'always' : 'never',
        },
        signal,
      );
      // The server's own answer, of the type that its route documents.
      return (await answer.json()) as UploadAnswer;
    },
    async download(jobId, name, { signal } = {}) {
      const answer = await http.transfer({ method: 'GET', path: pathOf(jobId, name) }, signal);
      const length = answer.headers.get('content-length');
      return {
        size: length === null ? null : Number(length),
        content: answer.body ?? new Blob([]).stream(),
      };
    },
    async *list(jobId) {
      const path = `/api/v1/jobs/${encodeURIComponent(jobId)}/files`;
      for (let after: string | null = ''; after !== null; ) {
        const query: Record<string, string | number> = { after, limit: 1_000 };
        const page: FilesAnswer = await http.json<FilesAnswer>({ method: 'GET', path, query });
        yield* page.files;
        after = page.next;
      }
    },
    async link(jobId, name, { expiresInSeconds } = {}) {
      const body = expiresInSeconds === undefined ? {} : { expires_in: expiresInSeconds };
      const path = `${pathOf(jobId, name)}/link`;
      const link = await http.json<FileLinkAnswer>({ method: 'POST', path, body, retry: 'always' });
      return { ...link, url: http.absolute(link.url) };
    },
  };
}

function pathOf(jobId: string, name: string): string {
  return `/api/v1/jobs/${encodeURIComponent(jobId)}/files/${encodedFileName(name)}`;
}
