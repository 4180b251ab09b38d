import { cleanJson, isJsonObject, type JsonObject, type JsonValue } from '../std/json.ts';
import { failedState } from './blueprint.ts';
import type { Emission } from './emit.ts';
import type { Step } from './step.ts';

/** What every action is held against before it touches anything. */

/**
 * Weight of what a handler may leave in one place (data, result, params). Escaped, it takes up to six
 * times as many characters of text, and no text is longer than 512 Mi.
 */
export const maxPayload = 16 * 1024 * 1024;

export function checkTarget(step: Step, to: string): void {
  if (step.state.to.has(to) || to === failedState) return;
  throw fault(
    step,
    `leads to "${to}", which is not among its to: ${[...step.state.to].join(', ') || 'none'}`,
  );
}

export function fault(step: Step, problem: string): Error {
  return new Error(
    `blueprint "${step.blueprint.name}", state "${step.job.state}": the handler ${problem}`,
  );
}

/**
 * A copy that every store keeps.
 * @throws Error when it can't be kept: a failure of the handler.
 */
export function storable(value: unknown, what: string): JsonValue {
  const room = { left: maxPayload };
  const cleaned = cleanJson(value, 0, room);
  if (cleaned !== undefined) return cleaned;
  if (room.left < 0)
    throw new Error(`${what} holds more than 16 Mi characters (each value counts as 8)`);
  throw new Error(
    `${what} holds what JSON cannot: a function, a bigint, a cycle or more than 64 levels`,
  );
}

export function storableObject(value: unknown, what: string): JsonObject {
  const cleaned = storable(value, what);
  if (isJsonObject(cleaned)) return cleaned;
  throw new Error(`${what} must be an object, not ${JSON.stringify(cleaned).slice(0, 100)}`);
}

/** A copy of a map from answers to states, each of which is an edge of the present state. */
export function targetsOf(
  step: Step,
  given: unknown,
  verb: string,
): Readonly<Record<string, string>> {
  const on = cleanJson(given);
  if (!isJsonObject(on)) throw fault(step, `${verb} without on: { status: state }`);
  const targets = Object.entries(on).map(([status, target]) => {
    if (typeof target !== 'string')
      throw fault(step, `${verb} with on.${status} that names no state`);
    checkTarget(step, target);
    return [status, target] as const;
  });
  return Object.fromEntries(targets);
}

/** Routing keys and names of exchanges hold at most 255 bytes. */
const longestName = 255;

/** @throws Error for a name that no bus takes, or a payload that JSON can't hold. */
export function checkedEmission({ exchange, name, payload }: Emission): Emission {
  for (const text of [exchange, name]) {
    const isFine =
      typeof text === 'string' &&
      text !== '' &&
      new TextEncoder().encode(text).length <= longestName;
    if (!isFine) throw new Error(`emits to ${JSON.stringify(exchange)} as ${JSON.stringify(name)}`);
  }
  return { exchange, name, payload: storable(payload ?? null, 'what is emitted') };
}

const maxPriority = 1_000;

export function checkPriority(step: Step, priority: unknown, verb: string): void {
  if (typeof priority === 'number' && Math.abs(priority) <= maxPriority) return;
  throw fault(
    step,
    `${verb} with priority ${priority}; it goes from -${maxPriority} to ${maxPriority}`,
  );
}
