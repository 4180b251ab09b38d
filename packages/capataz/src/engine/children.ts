import type { Blueprint } from '../core/blueprint.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { JsonValue } from '../std/json.ts';
import { checkedInput } from './input.ts';
import type { Registry } from './registry.ts';

/**
 * What a child is started from. A decision can't wait, so the schema must answer at once.
 * @throws CapatazError BLUEPRINT_NOT_FOUND, INPUT_INVALID
 */
export function prepareChild(
  registry: Registry,
  name: string,
  input: JsonValue,
): { readonly blueprint: Blueprint; readonly input: JsonValue } {
  const blueprint = registry.get(name);
  if (blueprint.input === null) return { blueprint, input };
  const result = blueprint.input['~standard'].validate(input);
  if (!(result instanceof Promise)) return { blueprint, input: checkedInput(blueprint, result) };
  result.catch(() => undefined);
  throw new CapatazError(
    'INPUT_INVALID',
    `the input schema of blueprint "${name}" is asynchronous, and a child's must not be`,
  );
}
