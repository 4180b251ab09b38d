import type { Clock, Log } from 'capataz/server';
import { z } from 'zod';
import type { LauncherSettings } from '../config/settings.ts';
import type { Executions } from '../cycles/executions.ts';
import type { CallbackMaker } from '../cycles/world.ts';
import { deploymentKey, recordOf } from '../execution/record.ts';
import { reportedState } from '../execution/states.ts';
import type { Db } from '../tables/database.ts';
import { isSame, jobHeader, jobIn, signedJob } from './signature.ts';

const keyHeader = 'x-authorization';

/** Controls, as zeros, have no place in the columns that this goes into. */
const word = z
  .string()
  .max(50)
  .regex(/^\P{Cc}+$/u);
/** What else is said is kept as it came. */
const callbackBody = z.looseObject({ deploymentId: word, status: word });

export interface CallbackRequest {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

export interface CallbackAnswer {
  readonly status: 200 | 202 | 400 | 401;
  readonly body: { readonly status: string; readonly message: string };
}

export interface CallbackParts {
  readonly settings: LauncherSettings;
  readonly executions: Executions;
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
}

/** A callback whose deployment nobody knows is kept this long: its job may be a moment behind (LH-10). */
const keepFor = '7d';

type Verdict = 'APLICADO' | 'REPETIDO' | 'GUARDADO' | 'RECHAZADO';

/**
 * Takes what the Control Room says of an end: early, late, twice, or of a deployment that nobody knows.
 * The first end is final (LH-11); every further word is kept as evidence.
 */
export class Callbacks {
  readonly #parts: CallbackParts;

  constructor(parts: CallbackParts) {
    this.#parts = parts;
  }

  async take({ headers, body }: CallbackRequest): Promise<CallbackAnswer> {
    const token = this.#parts.settings.callbackToken;
    const key = headers[keyHeader];
    // The dynamic token may have run out before a long robot ends: it is not looked at (LH-12, S-86).
    if (token === null || key === undefined || !isSame(key, token))
      return answer(401, 'unauthorized', 'the key is missing or wrong');
    const read = readBody(body);
    if (read === null)
      return answer(400, 'invalid', 'the body must be JSON with deploymentId and status');
    const named = headers[jobHeader];
    const jobId = named === undefined ? null : jobIn(named, token);
    if (named !== undefined && jobId === null)
      return answer(401, 'unauthorized', `${jobHeader} is not ours`);
    const verdict = await this.#apply(jobId, read, body);
    await this.#remember(jobId, read, body, verdict);
    const { deploymentId, status } = read;
    const fields = { ...(jobId === null ? {} : { job: jobId }), deployment: deploymentId };
    this.#parts.log.info(`Callback ${status} de ${deploymentId}: ${verdict}`, fields);
    return answers[verdict];
  }

  async #apply(
    jobId: string | null,
    { deploymentId, status }: z.infer<typeof callbackBody>,
    body: string,
  ): Promise<Verdict> {
    const { executions, clock } = this.#parts;
    const data = { deploymentId, status, body, at: clock.now() };
    if (reportedState(status) === null) return 'RECHAZADO';
    if (jobId === null) {
      const told = await executions.tellDeployment(deploymentKey(deploymentId), data, keepFor);
      if (told === 'accepted' || told === 'taken') return 'APLICADO';
      return told === 'kept' ? 'GUARDADO' : 'REPETIDO';
    }
    const [told] = await executions.tell([{ jobId, name: 'callback', data }]);
    if (told === 'taken') return 'APLICADO';
    if (told === 'ended') return 'REPETIDO';
    return this.#isOver(jobId, deploymentId);
  }

  async #isOver(jobId: string, deploymentId: string): Promise<Verdict> {
    const job = await this.#parts.executions.get(jobId);
    const isIts = job !== null && recordOf(job).deploymentId === deploymentId;
    return isIts && job.ended_at !== null ? 'REPETIDO' : 'RECHAZADO';
  }

  async #remember(
    jobId: string | null,
    { deploymentId, status }: z.infer<typeof callbackBody>,
    body: string,
    verdict: Verdict,
  ): Promise<void> {
    const { db, clock } = this.#parts;
    await db
      .insertInto('Callbacks')
      .values({
        RecibidoUtc: clock.now(),
        DeploymentId: deploymentId,
        JobId: jobId,
        Estado: status,
        Cuerpo: body,
        Resultado: verdict,
      })
      .execute();
  }
}

const answers: Readonly<Record<Verdict, CallbackAnswer>> = {
  APLICADO: answer(200, 'ok', 'the execution has ended'),
  REPETIDO: answer(200, 'ok', 'already processed'),
  GUARDADO: answer(202, 'kept', 'nobody knows the deployment yet; it is kept'),
  RECHAZADO: answer(202, 'noted', 'it is kept as evidence, and changes nothing'),
};

function answer(status: CallbackAnswer['status'], word: string, message: string): CallbackAnswer {
  return { status, body: { status: word, message } };
}

function readBody(body: string): z.infer<typeof callbackBody> | null {
  try {
    const read = callbackBody.safeParse(JSON.parse(body));
    return read.success ? read.data : null;
  } catch {
    return null;
  }
}

/** The static key, the gateway's token and the proof of the job, for what goes out with a deploy call. */
export function callbackMaker(
  { callbackUrl, callbackToken }: Pick<LauncherSettings, 'callbackUrl' | 'callbackToken'>,
  gatewayHeaders: () => Promise<Readonly<Record<string, string>>>,
): CallbackMaker | null {
  if (callbackUrl === null || callbackToken === null) return null;
  return {
    async prepare() {
      const dynamic = await gatewayHeaders();
      return (jobId) => ({
        url: callbackUrl,
        headers: {
          ...dynamic,
          'X-Authorization': callbackToken,
          'X-Capataz-Job': signedJob(jobId, callbackToken),
        },
      });
    },
  };
}
