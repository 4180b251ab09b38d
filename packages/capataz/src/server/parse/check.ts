import { z } from 'zod';
import { type Problem, validationFailed } from './fields.ts';

/** Checks a value from outside against a schema. @throws VALIDATION_FAILED naming every problem. */
export function check<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  throw validationFailed(result.error.issues.flatMap((issue) => problemsOf(issue, schema)));
}

function problemsOf(issue: z.core.$ZodIssue, schema: z.ZodType): Problem[] {
  const path = issue.path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? String(part) : `${text}.${String(part)}`;
  }, '');
  if (issue.code !== 'unrecognized_keys')
    return [{ path, message: isAbsent(issue) ? 'is missing' : sentence(issue.message) }];
  const known = memberNames(schema, issue.path);
  const instead = known.length === 0 ? '' : `; known are ${known.join(', ')}`;
  return issue.keys.map((key) => ({
    path: path === '' ? key : `${path}.${key}`,
    message: `is not known here${instead}`,
  }));
}

/** Of the object at this place in what the schema describes. */
function memberNames(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let place: unknown = schema;
  for (const part of path) {
    if (place instanceof z.ZodArray) place = place.element;
    else if (place instanceof z.ZodObject) place = place.shape[String(part)];
    while (place instanceof z.ZodOptional || place instanceof z.ZodExactOptional)
      place = place.unwrap();
  }
  return place instanceof z.ZodObject ? Object.keys(place.shape) : [];
}

function isAbsent({ code, path, input }: z.core.$ZodIssue): boolean {
  return code !== 'custom' && path.length > 0 && input === undefined;
}

/** zod's messages stand alone; behind a path they go on in lower case. */
function sentence(message: string): string {
  return `is refused: ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
}
