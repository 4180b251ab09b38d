import { z } from 'zod';
import { jobStatuses } from '../../core/status.ts';
import type * as api from '../../protocol/client-api.ts';
import { maxDurationMs } from '../../std/duration.ts';
import type { JsonObject, JsonValue } from '../../std/json.ts';

/**
 * The client's wire as schemas: they check what comes in, and the OpenAPI document is made from
 * them. That they fit the types of `protocol/client-api.ts` is what the compiler checks here.
 */

// The body was parsed from JSON and cleaned before, so that every member is JSON already.
export const json = z.unknown() as z.ZodType<JsonValue>;
export const jsonObject = z.record(z.string(), json) as z.ZodType<JsonObject>;
export const instant = z.iso.datetime();
export const maxSeconds = maxDurationMs / 1_000;
/** Names and keys that a caller chooses. */
export const shortText = z.string().min(1).max(200);
const timeout = z.number().positive().max(maxSeconds);

const concurrency = z.strictObject({
  key: z.string().min(1).max(500),
  limit: z.int().min(1).describe('Open jobs of this key, at most.'),
  on_busy: z
    .exactOptional(z.enum(['queue', 'skip', 'refuse']))
    .describe('Wait for a place (default), start no job (409), or refuse (429).'),
}) satisfies z.ZodType<api.ConcurrencyBody>;

export const startJobBody = z
  .strictObject({
    initial_data: z.exactOptional(json).describe("The job's input. Default {}."),
    job_id: z.exactOptional(z.uuid()).describe("A UUID of the caller's own making."),
    dispatch_timeout: z.exactOptional(timeout).describe('Longest time in the queue, in seconds.'),
    result_timeout: z
      .exactOptional(timeout)
      .describe('Longest time from dispatch to result, in seconds.'),
    priority: z.exactOptional(z.int().min(-1000).max(1000)).describe('Higher first. Default 0.'),
    attributes: z.exactOptional(jsonObject).describe('Searchable.'),
    start_delay: z
      .exactOptional(z.number().nonnegative().max(maxSeconds))
      .describe('Seconds before the job begins. Default 0.'),
    metadata: z.exactOptional(jsonObject).describe('Passed through to handlers.'),
    concurrency: z
      .exactOptional(concurrency)
      .describe('Limits the open jobs of a key. Default: as the blueprint says.'),
  })
  .describe('A job to start') satisfies z.ZodType<api.StartJobBody>;

export const startJobAnswer = z.object({
  status: z.literal('accepted'),
  job_id: z.uuid(),
}) satisfies z.ZodType<api.StartJobAnswer>;

const refusedJob = z.object({
  status: z.literal('refused'),
  code: z.string(),
  error: z.string(),
  details: z.exactOptional(jsonObject),
});

export const startJobsBody = z.array(startJobBody).min(1).max(1_000);

export const startJobsAnswer = z.array(
  z.union([startJobAnswer, refusedJob]),
) satisfies z.ZodType<api.StartJobsAnswer>;

export const cancelBody = z.strictObject({
  reason: z.exactOptional(z.string().max(1_000)).describe("Stands in the job's book."),
}) satisfies z.ZodType<api.CancelBody>;

export const dismissBody = z.strictObject({
  reason: z.exactOptional(z.string().max(1_000)).describe("Stands in the job's book."),
}) satisfies z.ZodType<api.DismissBody>;

const progress = z.object({
  fraction: z.number().nullable(),
  message: z.string().nullable(),
}) satisfies z.ZodType<api.ProgressView>;

const jobError = z
  .object({ code: z.string(), message: z.string(), details: z.exactOptional(json) })
  .nullable();

const waitView = z.discriminatedUnion('type', [
  z.object({ type: z.literal('task'), task_id: z.string() }),
  z.object({ type: z.literal('parallel'), count: z.int(), to: z.string() }),
  z.object({
    type: z.literal('approval'),
    id: z.string(),
    message: z.string(),
    show: json,
    hash: z.string(),
    revision: z.string().nullable(),
    escalated: z.boolean(),
    decisions: z.array(z.string()),
    signals: z.array(z.string()),
  }),
  z.object({ type: z.literal('child'), job_id: z.string() }),
  z.object({ type: z.literal('event'), signals: z.array(z.string()) }),
  z.object({ type: z.literal('timer'), key: z.string().nullable() }),
]) satisfies z.ZodType<api.WaitView>;

const branchResult = z.object({
  index: z.int(),
  skill: z.string(),
  status: z.string(),
  data: json,
  error: jobError,
}) satisfies z.ZodType<api.BranchResultView>;

export const jobView = z.object({
  id: z.uuid(),
  blueprint: z.string(),
  blueprint_version: z.int(),
  client: z.string(),
  status: z.enum(jobStatuses),
  state: z.string(),
  held: z.boolean(),
  priority: z.int(),
  input: json,
  data: jsonObject,
  result: json.nullable(),
  error: jobError,
  wait: waitView.nullable().describe('What it waits for.'),
  answer: z
    .object({ name: z.string(), data: json })
    .nullable()
    .describe('The signal, decision or end of a child that it heard last.'),
  results: z
    .record(z.string(), branchResult)
    .nullable()
    .describe('What a fan-out brought, by task; left out above 64 Ki characters.'),
  resume: z
    .object({ type: z.enum(['handler', 'task', 'parallel']), state: z.string() })
    .nullable()
    .describe('Of a quarantined job: where a redrive takes it up again.'),
  parent: z.string().nullable().describe('The job that started it and waits for its end.'),
  concurrency: z
    .object({ key: z.string(), limit: z.int(), on_busy: z.enum(['queue', 'skip', 'refuse']) })
    .nullable(),
  attributes: jsonObject,
  metadata: jsonObject,
  correlation_id: z.string(),
  progress: progress.nullable(),
  created_at: instant,
  entered_at: instant,
  ended_at: instant.nullable(),
}) satisfies z.ZodType<api.JobView>;

export const jobsAnswer = z.object({
  jobs: z.array(jobView),
  next: z.string().nullable().describe('Give it as `before` for the next page.'),
}) satisfies z.ZodType<api.JobsAnswer>;

const historyView = z
  .object({ seq: z.int(), at: instant, type: z.string(), correlation_id: z.string() })
  .catchall(json) as z.ZodType<api.HistoryView>;

export const historyAnswer = z.object({
  history: z.array(historyView),
  next: z.int().nullable().describe('Give it as `after` for the next page.'),
}) satisfies z.ZodType<api.HistoryAnswer>;

export const workerView = z.object({
  id: z.string(),
  type: z.string(),
  status: z.string(),
  skills: z.array(z.string()),
  hot_skills: z.array(z.string()),
  slots: z.int().nullable(),
  load: z.int(),
  circuit: z
    .enum(['closed', 'half_open', 'open'])
    .describe(
      '`open`: it kept losing tasks and gets none for a while. `half_open`: one at a time.',
    ),
  hostname: z.string().nullable(),
  registered_at: instant,
  last_seen_at: instant,
}) satisfies z.ZodType<api.WorkerView>;

export const workersAnswer = z.object({
  workers: z.array(workerView),
}) satisfies z.ZodType<api.WorkersAnswer>;

export const drainAnswer = z.object({
  status: z.literal('draining'),
}) satisfies z.ZodType<api.DrainAnswer>;

export const cancelDrainAnswer = z.object({
  status: z.enum(['ready', 'busy']),
}) satisfies z.ZodType<api.CancelDrainAnswer>;

export const blueprintView = z.object({
  name: z.string(),
  version: z.int(),
  start: z.string(),
  states: z.array(
    z.object({ name: z.string(), to: z.array(z.string()), end: z.string().nullable() }),
  ),
}) satisfies z.ZodType<api.BlueprintView>;

export const blueprintsAnswer = z.object({
  blueprints: z.array(blueprintView),
}) satisfies z.ZodType<api.BlueprintsAnswer>;

const workerVerdicts = z.array(z.object({ id: z.string(), verdict: z.string() }));

export const whyView = z.object({
  job_id: z.uuid(),
  status: z.string(),
  state: z.string(),
  summary: z.string(),
  deadlines: z.array(z.object({ name: z.string(), at: instant })),
  task: z
    .object({
      id: z.string(),
      skill: z.string(),
      status: z.string(),
      worker: z.string().nullable(),
      workers: workerVerdicts,
    })
    .nullable(),
  tasks: z
    .array(
      z.object({
        skill: z.string(),
        pending: z.int(),
        running: z.int(),
        holders: z.array(z.string()),
        workers: workerVerdicts,
      }),
    )
    .describe('Of a fan-out: its open tasks, those of the same skill and needs together.'),
  child: z
    .object({ id: z.string(), status: z.string(), state: z.string(), summary: z.string() })
    .nullable(),
  signals: z.array(z.string()).describe('Names of the signals that the job takes now.'),
}) satisfies z.ZodType<api.WhyView>;

export const maxPage = 1_000;
export const page = z.coerce.number().int().min(1).max(maxPage).default(100);
const position = z.coerce.number().int().nonnegative().default(0);

export const jobsQuery = z.strictObject({
  status: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(jobStatuses)))
    .optional()
    .describe('One or several, separated by commas.'),
  blueprint: z.string().optional().describe('Only jobs of this blueprint.'),
  state: z.string().optional().describe('Only jobs in this state.'),
  correlation_id: z.string().optional().describe('Only jobs with this correlation id.'),
  limit: page.describe(`At most ${maxPage}.`),
  before: z.string().optional().describe('`next` of the page before.'),
});

export const historyQuery = z.strictObject({
  after: position.describe('Only entries with a higher sequence.'),
  limit: page.describe(`At most ${maxPage}.`),
});

export const streamQuery = z.strictObject({
  after: position.describe('Only what comes behind it. `Last-Event-ID` rules over it.'),
});

export const graphQuery = z.strictObject({
  format: z.enum(['dot', 'svg', 'mermaid']).default('dot').describe('Language of the picture.'),
  version: z.coerce.number().int().min(1).optional().describe('Default: the highest.'),
});

export const blueprintQuery = graphQuery.pick({ version: true });

export const noQuery = z.strictObject({});
