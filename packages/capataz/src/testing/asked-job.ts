import type { JobView } from '../protocol/client-api.ts';
import { assert } from '../std/assert.ts';
import type { JsonObject } from '../std/json.ts';
import { ask } from './ask.ts';

/** Starts a job over HTTP in open mode. @returns its id */
export async function startJob(
  url: string,
  blueprint: string,
  body: JsonObject = {},
): Promise<string> {
  const { json, text } = await ask(url, `POST /api/v1/jobs/${blueprint}`, { body });
  const id = (json as { job_id?: string } | null)?.job_id;
  assert(id !== undefined, `the job was not started: ${text}`);
  return id;
}

export async function readJob(url: string, id: string): Promise<JobView> {
  const { json } = await ask(url, `GET /api/v1/jobs/${id}`);
  // The server's own answer, of the type that its route documents.
  return json as unknown as JobView;
}
