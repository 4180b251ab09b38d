import type { JsonValue } from '../std/json.ts';
import { CapatazError } from './errors.ts';

/** What can be uploaded. A stream is an AsyncIterable: Node's Readable and the web's are. */
export type FileContent = string | Uint8Array | AsyncIterable<Uint8Array>;

/** `GET /api/v1/jobs/{id}/files`, one of them. */
export interface FileView {
  readonly path: string;
  readonly size: number;
  /** ISO 8601 in UTC. */
  readonly modified_at: string;
}

export interface FilesAnswer {
  readonly files: readonly FileView[];
  /** Given as `after` it leads to the next page; null on the last one. */
  readonly next: string | null;
}

/** `PUT …/files/{path}`. */
export interface UploadAnswer {
  readonly path: string;
  readonly size: number;
}

/** `POST …/files/{path}/link`. */
export interface FileLinkAnswer {
  /** Needs no token. Without a host it stands for one of this server. */
  readonly url: string;
  readonly expires_at: string;
}

/**
 * The files of one job, for a handler or a worker's task. Whatever their size, they go through
 * memory in pieces. Local copies lie in a folder of this run alone and vanish when it has ended.
 */
export interface TaskFiles {
  /** Where `download` puts a file and `upload` looks for it: on this machine, for other programs. */
  path(name: string): string;
  /** Copies a file of the job to `path(name)`. @returns that path. @throws FILE_NOT_FOUND */
  download(name: string): Promise<string>;
  /**
   * Stores a file with the job; a former one of this name is replaced at once and whole.
   * @param content default: the file at `path(name)`.
   * @throws FILE_NAME_INVALID, PAYLOAD_TOO_LARGE
   */
  upload(name: string, content?: FileContent): Promise<UploadAnswer>;
  /** @throws FILE_NOT_FOUND; SyntaxError where it is no JSON. */
  readJson(name: string): Promise<JsonValue>;
  writeJson(name: string, value: JsonValue): Promise<UploadAnswer>;
}

/** Bytes of UTF-8: what S3 takes as a key less the prefix, and what file systems take as a name. */
const maxNameBytes = 900;
const maxPartBytes = 255;

/**
 * The parts of a file's name. It is relative, its parts are separated by `/`, and nothing in it can
 * lead out of the job's folder or means something else in another place.
 * @throws CapatazError FILE_NAME_INVALID
 */
export function fileNameParts(name: string): readonly string[] {
  const parts = name.split('/');
  const problem = nameProblem(name) ?? parts.map(partProblem).find((found) => found !== null);
  if (problem === undefined || problem === null) return parts;
  throw new CapatazError('FILE_NAME_INVALID', `the name of a file ${problem}`, { file: name });
}

function nameProblem(name: string): string | null {
  if (name.startsWith('/')) return 'must not begin with "/"';
  if (!name.isWellFormed()) return 'must be well-formed Unicode';
  if (bytesOf(name) > maxNameBytes) return `has at most ${maxNameBytes} bytes`;
  if ([...name].some(isControl)) return 'holds no control characters';
  if (name.includes('\\')) return 'holds no "\\": its parts are separated by "/"';
  return null;
}

function partProblem(part: string): string | null {
  if (part === '') return 'has no empty parts';
  if (part === '.' || part === '..') return 'has no parts "." and ".."';
  return bytesOf(part) > maxPartBytes ? `has parts of at most ${maxPartBytes} bytes` : null;
}

function isControl(character: string): boolean {
  const code = character.charCodeAt(0);
  return code < 0x20 || code === 0x7f;
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** A name within a URL. Its parts were checked, so that none is `..`, which URLs resolve away. */
export function encodedFileName(name: string): string {
  return fileNameParts(name).map(encodeURIComponent).join('/');
}
