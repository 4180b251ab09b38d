import type { Blueprint } from '../core/blueprint.ts';
import type { StandardIssue, StandardResult } from '../core/standard-schema.ts';
import { CapatazError } from '../protocol/errors.ts';
import { cleanJson, type JsonValue } from '../std/json.ts';

/** The input as the blueprint's schema returns it, so that its defaults count. @throws INPUT_INVALID */
export async function validInput(blueprint: Blueprint, input: JsonValue): Promise<JsonValue> {
  if (blueprint.input === null) return input;
  return checkedInput(blueprint, await blueprint.input['~standard'].validate(input));
}

/** @throws CapatazError INPUT_INVALID with every problem */
export function checkedInput(blueprint: Blueprint, result: StandardResult<unknown>): JsonValue {
  if (result.issues !== undefined) {
    const problems = result.issues.map(issueText);
    throw new CapatazError(
      'INPUT_INVALID',
      `the input of blueprint "${blueprint.name}": ${problems.join('; ')}`,
      { problems },
    );
  }
  const value = cleanJson(result.value);
  if (value !== undefined) return value;
  throw new CapatazError(
    'INPUT_INVALID',
    `the input schema of blueprint "${blueprint.name}" gives what JSON can't hold`,
  );
}

function issueText({ message, path }: StandardIssue): string {
  const where = path?.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
  return where === undefined || where === '' ? message : `${where}: ${message}`;
}
