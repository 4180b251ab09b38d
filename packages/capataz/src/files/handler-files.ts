import { join } from 'node:path';
import type { FilesOptions } from './contract.ts';
import { TaskFolder } from './task-folder.ts';

/** One run of a handler. */
export interface HandlerRun {
  readonly jobId: string;
  /** Names its folder of local copies. */
  readonly token: string;
  /** Once it aborts, nothing of this run is stored any more. */
  readonly signal: AbortSignal;
}

/** The files of a job for a `run` handler: it waits its turn where a caller from outside is refused. */
export function handlerFiles(
  { store, maxBytes, workFolder }: FilesOptions,
  { jobId, token, signal }: HandlerRun,
): TaskFolder {
  return new TaskFolder(join(workFolder, token), {
    get: async (name) => (await store.get(jobId, name, { whenBusy: 'wait', signal })).content,
    put: (name, { open }) => store.put(jobId, name, open(), { maxBytes, signal, whenBusy: 'wait' }),
  });
}
