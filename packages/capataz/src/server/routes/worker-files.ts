import type { FilesOptions } from '../../files/contract.ts';
import { CapatazError } from '../../protocol/errors.ts';
import type { ServerContext } from '../context.ts';
import { attemptQuery, uploadAnswer } from '../docs/file-schemas.ts';
import { receiveFile, sendFile, type Transfer } from '../file-transfer.ts';
import { check } from '../parse/check.ts';
import { type Call, fileNameOf, param, type Route } from '../route.ts';
import { bytes, transferErrors } from './files.ts';

const path = '/_worker/workers/{worker_id}/jobs/{job_id}/files/{path}';
const params = {
  worker_id: "The worker's id.",
  job_id: "The job's id.",
  path: "The file's name; it may have parts, `a/b.txt`.",
};

/** Files of the jobs that a worker works on, for as long as it does. */
export function workerFileRoutes(context: ServerContext): Route[] {
  const { files } = context;
  if (files === null) return [];
  return [
    {
      method: 'PUT',
      path,
      area: 'worker',
      takes: 'bytes',
      operation: {
        id: 'uploadTaskFile',
        summary: 'Stores a file with the job of a task that the worker holds',
        params,
        query: attemptQuery,
        answers: { 200: { description: 'It is stored', body: uploadAnswer } },
        errors: ['ATTEMPT_NOT_CURRENT', 'PAYLOAD_TOO_LARGE', ...transferErrors],
      },
      handle: (call) => {
        const confirm = (): Promise<void> => mustHold(context, call);
        return receiveFile(context, call, { ...transferOf(files, call), confirm });
      },
    },
    {
      method: 'GET',
      path,
      area: 'worker',
      operation: {
        id: 'downloadTaskFile',
        summary: 'A file of the job of a task that the worker holds',
        params,
        query: attemptQuery,
        answers: { 200: { description: 'Its content', ...bytes } },
        errors: ['ATTEMPT_NOT_CURRENT', 'FILE_NOT_FOUND', ...transferErrors],
      },
      handle: async (call) => {
        await mustHold(context, call);
        return sendFile(context, call, transferOf(files, call));
      },
    },
  ];
}

function transferOf(files: FilesOptions, call: Call): Transfer {
  return { files, jobId: jobIdIn(call), name: fileNameOf(call) };
}

function jobIdIn({ request }: Call): string {
  return param(request, 'job_id').toLowerCase();
}

/**
 * A foreign job, an unknown one and one whose attempt was given up look the same.
 * @throws ATTEMPT_NOT_CURRENT
 */
async function mustHold({ engine }: ServerContext, call: Call): Promise<void> {
  const { attempt } = check(attemptQuery, call.request.query);
  const worker = param(call.request, 'worker_id');
  if (await engine.workers.holds(worker, jobIdIn(call), attempt)) return;
  throw new CapatazError('ATTEMPT_NOT_CURRENT', 'this worker holds no such attempt of this job');
}
