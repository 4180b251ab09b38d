import { UsageError } from 'capataz/server';
import { z } from 'zod';
import { tierNamed } from '../job/input.ts';

/** `haiku`, `sonnet` or `opus`, as a flag. */
export const tierOption = z
  .string()
  .refine((word) => tierNamed(word) !== null, 'must be haiku, sonnet or opus')
  .optional();

/** @throws UsageError that names each flag that is wrong */
export function optionsOf<T>(schema: z.ZodType<T>, given: unknown): T {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(
    ({ path, message }) => `--${path.join('.')}: ${message}`,
  );
  throw new UsageError(problems.join('\n'));
}

/** @throws UsageError for a file that can not be written */
export function writing<T>(file: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    throw new UsageError(`${file}: cannot be written (${(error as NodeJS.ErrnoException).code})`);
  }
}
