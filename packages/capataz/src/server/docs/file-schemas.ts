import { z } from 'zod';
import type * as api from '../../protocol/files.ts';

/** The wire of files; the types of `protocol/files.ts` are what they are checked against. */
const mostFiles = 1_000;
/** Longest life of a link, in seconds. */
const mostLinkSeconds = 3_600;

export const filesQuery = z.strictObject({
  after: z.string().default('').describe('`next` of the page before.'),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(mostFiles)
    .default(100)
    .describe(`At most ${mostFiles}.`),
});

export const filesAnswer = z.object({
  files: z.array(z.object({ path: z.string(), size: z.int(), modified_at: z.iso.datetime() })),
  next: z.string().nullable(),
}) satisfies z.ZodType<api.FilesAnswer>;

export const uploadAnswer = z.object({
  path: z.string(),
  size: z.int(),
}) satisfies z.ZodType<api.UploadAnswer>;

export const linkBody = z.strictObject({
  expires_in: z
    .int()
    .min(1)
    .max(mostLinkSeconds)
    .default(300)
    .describe('How long the link is good, in seconds.'),
});

export const linkAnswer = z.object({
  url: z.string().describe('Where it begins with `/`, it stands for one of this server.'),
  expires_at: z.iso.datetime(),
}) satisfies z.ZodType<api.FileLinkAnswer>;

export const linkQuery = z.strictObject({
  expires: z.string().describe('As the link has it.'),
  signature: z.string().describe('As the link has it.'),
});

export const attemptQuery = z.strictObject({
  attempt: z
    .string()
    .optional()
    .describe('Only while this attempt is current. Default: any that the worker holds of the job.'),
});
