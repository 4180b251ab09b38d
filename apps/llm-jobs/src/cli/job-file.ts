import { readFileSync } from 'node:fs';
import { UsageError } from 'capataz/server';
import { z } from 'zod';
import { type JobInput, jobInput } from '../job/input.ts';

/** A job as the seed writes it: what it has lived through is passed over, and it begins anew. */
const seedJob = z
  .looseObject({
    description: z.string(),
    retry_config: z
      .looseObject({ max_retries: z.number().optional(), base_delay_ms: z.number().optional() })
      .nullish(),
  })
  .transform(({ description, retry_config }): JobInput => {
    const { max_retries, base_delay_ms } = retry_config ?? {};
    return {
      description,
      ...(max_retries === undefined ? {} : { max_retries }),
      ...(base_delay_ms === undefined ? {} : { base_delay_ms }),
    };
  });

/** @throws UsageError that names file and field */
export function readJobFile(file: string): JobInput {
  return jobIn(textOf(file), file);
}

/** The input of a job, or a whole job as `GET /llm/jobs/{id}` shows it. @throws UsageError */
export function jobIn(text: string, place: string): JobInput {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${place}: is no JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (typeof value === 'string') return { description: value };
  const isWholeJob = typeof value === 'object' && value !== null && 'retry_config' in value;
  const parsed = (isWholeJob ? seedJob : jobInput).safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => {
    const field = path.join('.');
    return `${place}: ${field === '' ? '' : `${field}: `}${message}`;
  });
  throw new UsageError(problems.join('\n'));
}

/** @throws UsageError */
export function textOf(file: string): string {
  try {
    // Windows' editors put a mark before the text.
    return readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    throw new UsageError(`${file}: cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}
