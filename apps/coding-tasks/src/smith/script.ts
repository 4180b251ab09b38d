import { readFileSync } from 'node:fs';
import { z } from 'zod';

const relativePath = z
  .string()
  .regex(/^(?!\/)(?!.*(?:^|\/)\.\.(?:\/|$)).+$/, 'a path within the repository is wanted');

const step = z.union([
  /** A line for those who watch. */
  z.strictObject({ say: z.string() }),
  z.strictObject({ waitMs: z.int().min(0) }),
  z.strictObject({ write: z.strictObject({ path: relativePath, text: z.string() }) }),
  z.strictObject({ remove: relativePath }),
  /** Commits all there is. What is left uncommitted, the smith commits. */
  z.strictObject({ commit: z.string().min(1) }),
  /** The last word; in the phase `plan`, the plan. */
  z.strictObject({ answer: z.string() }),
  z.strictObject({
    usage: z.strictObject({
      costUsd: z.number().min(0).optional(),
      inputTokens: z.int().min(0).optional(),
      outputTokens: z.int().min(0).optional(),
    }),
  }),
  /** Ends the turn: the agent says that it can't do it. */
  z.strictObject({ fail: z.string() }),
  /** Ends the process without a word, with this code. */
  z.strictObject({ exit: z.int().min(0).max(255) }),
  /** Says nothing more and never ends; with `stubborn` it does not mind SIGTERM either. */
  z.strictObject({ hang: z.enum(['gentle', 'stubborn']) }),
]);

const script = z.strictObject({
  plan: z.array(step).default([{ answer: 'Do what was asked.' }]),
  code: z.array(step),
  /** One list a round; the last one serves all further rounds. */
  corrections: z.array(z.array(step)).default([]),
});

export type Step = z.infer<typeof step>;
/** What a scripted agent does in each phase. */
export type Script = z.infer<typeof script>;

/** @throws Error that names the file and the field */
export function readScript(path: string): Script {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Error(`${path}: can't be read as JSON`, { cause: error });
  }
  const parsed = script.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${path}: ${issue?.path.join('.') || 'the script'}: ${issue?.message}`);
}
