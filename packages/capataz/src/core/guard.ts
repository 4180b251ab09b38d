import { Environment } from '@marcbachmann/cel-js';
import type { JsonObject, JsonValue } from '../std/json.ts';

/**
 * The condition of a guarded handler, in CEL (the Common Expression Language), over `context`.
 * `context.initial_data` and `context.state_history` are the orchestrator seed's names for input
 * and data.
 */
export interface GuardContext {
  readonly input: JsonValue;
  readonly data: JsonObject;
  readonly client: {
    readonly name: string;
    readonly plan: string | null;
    readonly params: JsonObject;
  };
}

export type GuardResult =
  | { readonly holds: boolean; readonly problem: null }
  | { readonly holds: false; readonly problem: string };

/** Judges one context. What can't be evaluated is false and says why: it is recorded, not thrown. */
export type Guard = (context: GuardContext) => GuardResult;

const environment = new Environment().registerVariable('context', 'map');

/** @throws Error with the checker's words when the text is no CEL over `context`. */
export function compileGuard(text: string): Guard {
  const checked = environment.check(text);
  if (!checked.valid) throw new Error(checked.error?.message.split('\n')[0] ?? 'not valid');
  const evaluate = environment.parse(text);
  return ({ input, data, client }) => {
    const context = { input, data, client, initial_data: input, state_history: data };
    try {
      const value: unknown = evaluate({ context });
      if (typeof value === 'boolean') return { holds: value, problem: null };
      return { holds: false, problem: `"${text}" is ${typeof value}, not true or false` };
    } catch (error) {
      const message = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
      return { holds: false, problem: `"${text}": ${message}` };
    }
  };
}
