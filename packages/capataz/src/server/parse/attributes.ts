import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../std/json.ts';
import { type Problem, validationFailed } from './fields.ts';

const prefix = 'attr.';
/** Each is looked for in every job. */
const maxAttributes = 20;

export interface AttributeQuery {
  /** Undefined where none is asked for. */
  readonly attributes: JsonObject | undefined;
  /** The other parameters of the query. */
  readonly rest: object;
}

/** Takes `attr.<name>=<value>` out of a query. @throws VALIDATION_FAILED */
export function attributesIn(query: unknown): AttributeQuery {
  const entries = Object.entries(isJsonObject(query) ? query : {});
  const rest = entries.filter(([name]) => !name.startsWith(prefix));
  const given = entries.filter(([name]) => name.startsWith(prefix));
  const problems = given.flatMap(([name, value]) => problemOf(name, value));
  if (given.length > maxAttributes)
    problems.push({ path: prefix, message: `may be given ${maxAttributes} times at most` });
  if (problems.length > 0) throw validationFailed(problems);
  const attributes = given.map(([name, value]) => [name.slice(prefix.length), attributeOf(value)]);
  return {
    attributes: given.length === 0 ? undefined : Object.fromEntries(attributes),
    rest: Object.fromEntries(rest),
  };
}

function problemOf(name: string, value: JsonValue): Problem[] {
  if (name === prefix) return [{ path: name, message: 'must name an attribute' }];
  // What comes twice arrives as an array.
  return Array.isArray(value) ? [{ path: name, message: 'may be given once' }] : [];
}

/** `7` is a number, `"7"` a text, and so is `seven`. */
function attributeOf(value: JsonValue): JsonValue {
  const parsed = parseJson(String(value));
  return parsed.ok ? parsed.value : value;
}
