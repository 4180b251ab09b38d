import { z } from 'zod';
import type * as api from '../../protocol/signals-api.ts';
import {
  instant,
  jobView,
  json,
  jsonObject,
  maxPage,
  maxSeconds,
  page,
  shortText,
} from './client-schemas.ts';

/** The wire of signals and decisions; the types of `protocol/signals-api.ts` are what they fit. */

const signal = {
  name: shortText,
  id: z
    .exactOptional(shortText)
    .describe("The sender's own: the same one again changes nothing. Default: a new one."),
  data: z.exactOptional(json).describe('Default null.'),
};

export const signalBody = z.strictObject(signal) satisfies z.ZodType<api.SignalBody>;

export const signalAnswer = z.object({
  status: z.literal('accepted'),
  id: z.string(),
}) satisfies z.ZodType<api.SignalAnswer>;

export const addressedSignal = z
  .strictObject({
    ...signal,
    job_id: z.exactOptional(shortText).describe('The job; or else `key`.'),
    key: z.exactOptional(z.string().min(1).max(500)).describe('Whoever has registered this key.'),
    keep_for: z
      .exactOptional(z.number().nonnegative().max(maxSeconds))
      .describe('Seconds that it is kept if nobody has registered the key. Default 0.'),
  })
  .refine(({ job_id, key }) => (job_id === undefined) !== (key === undefined), {
    message: 'Needs either job_id or key',
  })
  .refine(({ key, keep_for }) => key !== undefined || keep_for === undefined, {
    message: 'Only what goes to a key is kept',
    path: ['keep_for'],
  }) satisfies z.ZodType<api.AddressedSignal>;

/** Signals in one batch (S-59). */
export const maxSignals = 1_000;
export const signalsBody = z.array(addressedSignal).min(1).max(maxSignals);

export const signalsAnswer = z.array(
  z.union([
    z.object({
      status: z.enum(['accepted', 'kept']),
      id: z.string(),
      job_ids: z.array(z.string()),
    }),
    z.object({
      status: z.literal('refused'),
      code: z.string(),
      error: z.string(),
      details: z.exactOptional(jsonObject),
    }),
  ]),
) satisfies z.ZodType<api.SignalsAnswer>;

export const approvalsQuery = z.strictObject({
  limit: page.describe(`At most ${maxPage}.`),
  before: z.string().optional().describe('`next` of the page before.'),
});

export const approvalsAnswer = z.object({
  approvals: z.array(
    z.object({
      job_id: z.string(),
      blueprint: z.string(),
      state: z.string(),
      wait: z.string(),
      message: z.string(),
      show: json,
      hash: z.string(),
      revision: z.string().nullable(),
      decisions: z.array(z.string()),
      since: instant,
      escalated: z.boolean(),
    }),
  ),
  next: z.string().nullable().describe('Give it as `before` for the next page.'),
}) satisfies z.ZodType<api.ApprovalsAnswer>;

const comment = z.exactOptional(z.string().max(10_000));

const decisionFields = z.strictObject({
  decision: shortText,
  wait: z
    .exactOptional(shortText)
    .describe('The wait that is meant; with it a repetition is known as such.'),
  hash: z
    .exactOptional(shortText)
    .describe('Of what was shown. It or `revision` is needed where the wait shows content.'),
  revision: z.exactOptional(z.string().max(10_000)),
  comment,
  data: z.exactOptional(json).describe('For the handlers.'),
  approver: z.exactOptional(shortText).describe("Who has decided. Default: the client's name."),
});

/** Most questions show content, of which the hash must be named. */
const decisionExample = {
  examples: [{ decision: 'approved', hash: 'of what is shown' }],
};

export const decisionBody = decisionFields.meta(
  decisionExample,
) satisfies z.ZodType<api.DecisionBody>;

export const decisionAnswer = z.object({
  repeated: z.boolean().describe('This very decision was given before.'),
  job: jobView,
}) satisfies z.ZodType<api.DecisionAnswer>;

const daySeconds = 86_400;

export const approvalLinkBody = z.strictObject({
  expires_in: z
    .int()
    .min(1)
    .max(90 * daySeconds)
    .default(7 * daySeconds)
    .describe('How long the link is good, in seconds.'),
});

export const approvalLinkAnswer = z.object({
  url: z.string().describe('Where it begins with `/`, it stands for one of this server.'),
  wait: z.string(),
  expires_at: instant,
}) satisfies z.ZodType<api.ApprovalLinkAnswer>;

/** The seed's words; ours may stand beside them. */
export const webhookBody = decisionFields
  .extend({
    security: z.exactOptional(json).describe('Taken and not used.'),
    metadata: z.exactOptional(json).describe('Stands for `data`.'),
  })
  .meta(decisionExample);

export const webhookAnswer = z.object({
  status: z.literal('approval_received'),
  job_id: z.string(),
});

/** Of a field of a form that is there twice. */
const once = {
  error: ({ input }: { readonly input?: unknown }) =>
    Array.isArray(input) ? 'Given more than once' : undefined,
};

/** What the page of a link sends. Its fields are texts, and empty ones count as none. */
export const decisionForm = z.object({
  decision: z.string(once).min(1).max(200),
  approver: z.string(once).max(200).default('').describe('Default: `link`.'),
  comment: z.string(once).max(10_000).default(''),
});
