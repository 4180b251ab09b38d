import type { Job } from '../../core/job.ts';
import { isFinal } from '../../core/status.ts';
import type { FilesOptions, ListedFile } from '../../files/contract.ts';
import { CapatazError, type ErrorCode } from '../../protocol/errors.ts';
import type { FileLinkAnswer, FilesAnswer } from '../../protocol/files.ts';
import type { ServerContext } from '../context.ts';
import {
  filesAnswer,
  filesQuery,
  linkAnswer,
  linkBody,
  linkQuery,
  uploadAnswer,
} from '../docs/file-schemas.ts';
import { receiveFile, sendFile } from '../file-transfer.ts';
import { check } from '../parse/check.ts';
import { publicLink } from '../public-link.ts';
import { type Answer, type Call, fileNameOf, jobIdOf, ok, type Route } from '../route.ts';
import { clientOf } from './client-of.ts';

const idParam = { id: "The job's id." };
const fileParams = { ...idParam, path: "The file's name; it may have parts, `a/b.txt`." };
export const bytes = { types: ['application/octet-stream'] };
export const transferErrors: readonly ErrorCode[] = [
  'FILE_NAME_INVALID',
  'FILES_BUSY',
  'FILES_UNAVAILABLE',
];

/** Files of jobs; none where the server was given no place for them. */
export function fileRoutes(context: ServerContext): Route[] {
  const { files } = context;
  if (files === null) return [];
  return [
    listRoute(context, files),
    ...transferRoutes(context, files),
    ...(files.store.link === undefined ? [] : [linkRoute(context, files)]),
    ...(files.store.redeem === undefined ? [] : [linkedRoute(context, files)]),
  ];
}

function listRoute(context: ServerContext, files: FilesOptions): Route {
  return {
    method: 'GET',
    path: '/api/v1/jobs/{id}/files',
    area: 'client',
    operation: {
      id: 'listFiles',
      summary: 'Files of a job, by name',
      params: idParam,
      query: filesQuery,
      answers: { 200: { description: 'One page', body: filesAnswer } },
      errors: ['JOB_NOT_FOUND', 'FILES_UNAVAILABLE'],
    },
    handle: (call) => list(context, files, call),
  };
}

function transferRoutes(context: ServerContext, files: FilesOptions): Route[] {
  const path = '/api/v1/jobs/{id}/files/{path}';
  return [
    {
      method: 'PUT',
      path,
      area: 'client',
      takes: 'bytes',
      operation: {
        id: 'uploadFile',
        summary: 'Stores a file with a job that has not ended; replaces one of the same name',
        params: fileParams,
        answers: { 200: { description: 'It is stored', body: uploadAnswer } },
        errors: ['JOB_NOT_FOUND', 'ALREADY_FINAL', 'PAYLOAD_TOO_LARGE', ...transferErrors],
      },
      handle: (call) => {
        const confirm = async (): Promise<void> => mustBeOpen(await ownJob(context, call));
        const jobId = jobIdOf(call.request);
        return receiveFile(context, call, { files, jobId, name: fileNameOf(call), confirm });
      },
    },
    {
      method: 'GET',
      path,
      area: 'client',
      operation: {
        id: 'downloadFile',
        summary: 'A file of a job',
        params: fileParams,
        answers: { 200: { description: 'Its content', ...bytes } },
        errors: ['JOB_NOT_FOUND', 'FILE_NOT_FOUND', ...transferErrors],
      },
      handle: async (call) => {
        const { id: jobId } = await ownJob(context, call);
        return sendFile(context, call, { files, jobId, name: fileNameOf(call) });
      },
    },
  ];
}

function linkRoute(context: ServerContext, files: FilesOptions): Route {
  const suffix = '/link';
  return {
    method: 'POST',
    path: `/api/v1/jobs/{id}/files/{path}${suffix}`,
    area: 'client',
    operation: {
      id: 'linkFile',
      summary: 'A link to a file that needs no token, for a short time',
      params: fileParams,
      body: linkBody,
      answers: { 200: { description: 'The link', body: linkAnswer } },
      errors: ['JOB_NOT_FOUND', 'FILE_NAME_INVALID'],
    },
    handle: async (call) => {
      const name = fileNameOf(call, suffix);
      const { expires_in } = check(linkBody, call.request.body ?? {});
      const { id } = await ownJob(context, call);
      const link = await files.store.link?.(id, name, expires_in * 1_000);
      if (link === undefined) throw new CapatazError('NOT_SUPPORTED', 'there are no links here');
      const url = publicLink(context, link.url);
      const expires_at = new Date(link.expiresAt).toISOString();
      return ok({ url, expires_at } satisfies FileLinkAnswer);
    },
  };
}

/** Where a link of our own leads. */
function linkedRoute(context: ServerContext, files: FilesOptions): Route {
  return {
    method: 'GET',
    path: '/_public/files/{id}/{path}',
    area: 'public',
    operation: {
      id: 'linkedFile',
      summary: 'The file that a link names',
      params: fileParams,
      query: linkQuery,
      answers: { 200: { description: 'Its content', ...bytes } },
      errors: [
        'VALIDATION_FAILED',
        'LINK_INVALID',
        'FILE_NOT_FOUND',
        'NOT_READY',
        ...transferErrors,
      ],
    },
    handle: async (call) => {
      if (!context.engine.ready) throw new CapatazError('NOT_READY', 'The server is starting.');
      const { expires, signature } = check(linkQuery, call.request.query);
      const [jobId, name] = [jobIdOf(call.request), fileNameOf(call)];
      await files.store.redeem?.({ jobId, name, expires, signature });
      return sendFile(context, call, { files, jobId, name });
    },
  };
}

async function list(context: ServerContext, files: FilesOptions, call: Call): Promise<Answer> {
  const { after, limit } = check(filesQuery, call.request.query);
  const { id } = await ownJob(context, call);
  const found = await files.store.list(id, { after, limit: limit + 1 });
  const page = found.slice(0, limit);
  const next = found.length > limit ? (page.at(-1)?.path ?? null) : null;
  return ok({ files: page.map(fileView), next } satisfies FilesAnswer);
}

function fileView({ path, size, modifiedAt }: ListedFile): FilesAnswer['files'][number] {
  return { path, size, modified_at: new Date(modifiedAt).toISOString() };
}

/** The job, if it is this client's: a foreign one looks like none. @throws JOB_NOT_FOUND */
function ownJob({ engine }: ServerContext, call: Call): Promise<Job> {
  return engine.jobs.get(jobIdOf(call.request), clientOf(call).name);
}

/** What comes later would be nobody's: the files of an ended job are removed, or stay as they were. */
function mustBeOpen({ id, status }: Job): void {
  if (!isFinal(status)) return;
  throw new CapatazError('ALREADY_FINAL', `job ${id} is ${status}`, { status });
}
