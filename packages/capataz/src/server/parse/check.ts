import type { z } from 'zod';
import { type Problem, validationFailed } from './fields.ts';

/** Checks a value from outside against a schema. @throws VALIDATION_FAILED naming every problem. */
export function check<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  throw validationFailed(result.error.issues.flatMap(problemsOf));
}

function problemsOf(issue: z.core.$ZodIssue): Problem[] {
  const path = issue.path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? String(part) : `${text}.${String(part)}`;
  }, '');
  if (issue.code !== 'unrecognized_keys')
    return [{ path, message: isAbsent(issue) ? 'is missing' : sentence(issue.message) }];
  return issue.keys.map((key) => ({
    path: path === '' ? key : `${path}.${key}`,
    message: 'is not known here',
  }));
}

function isAbsent({ code, path, input }: z.core.$ZodIssue): boolean {
  return code !== 'custom' && path.length > 0 && input === undefined;
}

/** zod's messages stand alone; behind a path they go on in lower case. */
function sentence(message: string): string {
  return `is refused: ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
}
