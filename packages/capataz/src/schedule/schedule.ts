import type { JsonObject } from '../std/json.ts';
import { type Blackout, type BlackoutDefinition, blackout } from './blackout.ts';
import type { CatchUp } from './catch-up.ts';
import type { OverlapPolicy } from './overlap.ts';
import { type InBlackout, Plan } from './plan.ts';
import type { Rule } from './rule.ts';
import { slots } from './slots.ts';

/** An entry of `schedules.toml`: which jobs start when. docs/schedules.md tells what each field means. */
export interface Schedule {
  readonly name: string;
  readonly start: JobStart;
  readonly rule: Rule;
  readonly zone: string;
  readonly jitterMs: number;
  readonly catchUp: CatchUp;
  readonly overlap: OverlapPolicy;
  /** Names of blackouts. */
  readonly blackouts: readonly string[];
  readonly inBlackout: InBlackout;
  readonly isPaused: boolean;
}

/** What starts at each slot. */
export interface JobStart {
  readonly blueprint: string;
  /** Default: the highest there is at the slot. */
  readonly version?: number;
  /** Default: `dev` in open mode, else the application. */
  readonly client?: string;
  readonly input: JsonObject;
  readonly attributes: JsonObject;
  readonly priority?: number;
  readonly dispatchTimeoutMs?: number;
  readonly resultTimeoutMs?: number;
}

export type Blackouts = Readonly<Record<string, BlackoutDefinition>>;

/** @throws RuleError; what was read from a file was checked before. */
export function planOf(schedule: Schedule, definitions: Blackouts): Plan {
  const { name, rule, zone, jitterMs, inBlackout } = schedule;
  const blackouts = schedule.blackouts.flatMap((one): Blackout[] => {
    const definition = definitions[one];
    return definition === undefined ? [] : [blackout(one, definition)];
  });
  return new Plan({ name, slots: slots(rule, zone), jitterMs, blackouts, inBlackout });
}

/**
 * What makes a slot unique in a store: starts with the same key are one job, whichever instance
 * makes them and how often it was started anew.
 */
export function slotKey(name: string, slot: number): string {
  return `schedule/${name}/${new Date(slot).toISOString()}`;
}
