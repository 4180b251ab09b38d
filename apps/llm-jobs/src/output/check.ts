import { runInNewContext } from 'node:vm';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { z } from 'zod';

/** What an answer must be. Whoever starts a job may ask for these; a command is the server's alone. */
export const outputCheck = z.strictObject({
  /** A JSON schema (2020-12): the answer must be JSON that fits it. */
  schema: z.record(z.string(), z.json()).exactOptional(),
  /** A regular expression (flags `su`) that must match somewhere in the answer. */
  pattern: z.string().exactOptional(),
});
export type OutputCheck = z.infer<typeof outputCheck>;

/** A pattern of a stranger's, also one in a schema, may take for ever on the wrong text. */
const checkTimeoutMs = 1_000;
/** Characters: a schema may have a complaint about each of a hundred thousand items. */
const longestFault = 2_000;

/** What is wrong with a check itself. */
export function checkProblems({ schema, pattern }: OutputCheck): string[] {
  return [
    ...(schema === undefined ? [] : problemIn('check.schema', () => compiled(schema))),
    ...(pattern === undefined ? [] : problemIn('check.pattern', () => new RegExp(pattern, 'su'))),
  ];
}

function problemIn(field: string, make: () => unknown): string[] {
  try {
    make();
    return [];
  } catch (error) {
    return [`${field}: ${error instanceof Error ? error.message : error}`];
  }
}

/** @returns why the answer is no good, or null. */
export function faultOf(answer: string, { schema, pattern }: OutputCheck): string | null {
  if (answer.trim() === '') return 'the answer is empty';
  return (
    (schema === undefined ? null : judged('the schema', () => schemaFault(answer, schema))) ??
    (pattern === undefined ? null : judged(`/${pattern}/`, () => patternFault(answer, pattern)))
  );
}

/** Nothing but the clock of the virtual machine ends an expression that goes wild. */
function judged(what: string, judge: () => string | null): string | null {
  try {
    const fault: string | null = runInNewContext('judge()', { judge }, { timeout: checkTimeoutMs });
    return fault === null ? null : fault.slice(0, longestFault);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why =
      code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? `within ${checkTimeoutMs} ms` : `(${message})`;
    return `the answer could not be checked with ${what} ${why}`.slice(0, longestFault);
  }
}

function schemaFault(answer: string, schema: NonNullable<OutputCheck['schema']>): string | null {
  const value = jsonIn(answer);
  if (value === undefined) return 'the answer is no JSON';
  const { validate, ajv } = compiled(schema);
  if (validate(value)) return null;
  return `the answer does not fit the schema: ${ajv.errorsText(validate.errors, { dataVar: 'answer' })}`;
}

/**
 * The JSON that an answer is, undefined if it is none. Models like to put it into a fence of Markdown,
 * whatever they are told.
 */
export function jsonIn(answer: string): unknown {
  const bare = /^\s*```(?:json)?\s*\n([\s\S]*)\n\s*```\s*$/.exec(answer)?.[1] ?? answer;
  try {
    return JSON.parse(bare);
  } catch {
    return undefined;
  }
}

function compiled(schema: NonNullable<OutputCheck['schema']>) {
  // One for each: an id in one schema must not shadow another's.
  const ajv = new Ajv2020({ allErrors: true, strict: false, logger: false });
  return { ajv, validate: ajv.compile(schema) };
}

function patternFault(answer: string, pattern: string): string | null {
  return new RegExp(pattern, 'su').test(answer) ? null : `the answer does not match /${pattern}/`;
}
