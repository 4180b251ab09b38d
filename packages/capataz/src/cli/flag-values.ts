import { parseDuration } from '../std/duration.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../std/json.ts';
import { UsageError } from './exit.ts';

/** What the flags of several commands hold. Each throws UsageError with the flag's name. */

export function objectOf(flag: string, text: string): JsonObject {
  const value = jsonOf(flag, text);
  if (isJsonObject(value)) return value;
  throw new UsageError(`${flag} must be a JSON object`);
}

export function jsonOf(what: string, text: string): JsonValue {
  const parsed = parseJson(text);
  if (parsed.ok) return parsed.value;
  const reasons = {
    syntax: () => `is not JSON: ${syntaxProblem(text)}`,
    depth: () => 'is nested deeper than 64 levels',
    size: () => 'has more than 250,000 members',
  };
  throw new UsageError(`${what} ${reasons[parsed.problem]()}`);
}

function syntaxProblem(text: string): string {
  try {
    JSON.parse(text);
    return 'it cannot be parsed';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export function durationOf(flag: string, text: string): string {
  if (parseDuration(text) !== undefined) return text;
  throw new UsageError(`${flag} must be a duration like 10s, 5m or 1h30m, not "${text}"`);
}

/** The range is the server's to check. */
export function wholeNumber(flag: string, text: string): number {
  if (/^-?\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`${flag} must be a whole number, not "${text}"`);
}

/** `name=value`: JSON where the value is that, else text. */
export function attributeOf(flag: string, text: string): readonly [string, JsonValue] {
  const sign = text.indexOf('=');
  if (sign < 1) throw new UsageError(`${flag} must be name=value, not "${text}"`);
  const value = text.slice(sign + 1);
  const parsed = parseJson(value);
  return [text.slice(0, sign), parsed.ok ? parsed.value : value];
}

/** For a flag that may be given several times. */
export function collected(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}
