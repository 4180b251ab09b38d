import { unreachable } from '../std/assert.ts';

/**
 * The table of the circuit, pure. Time is part of the value: an open circuit without the moment at
 * which it may be tried again cannot be spelt, so none stays open for ever.
 */
export type Circuit =
  /** Calls pass. `failures` without a success in between. */
  | { readonly type: 'closed'; readonly failures: number }
  /** Calls are refused until this moment of the steady clock; the first one after it is a probe. */
  | { readonly type: 'open'; readonly until: number }
  /** `probes` are under way, everyone else is refused. */
  | { readonly type: 'half_open'; readonly successes: number; readonly probes: number };

/** The index is the value of the gauge: 0 closed, 1 half-open, 2 open. */
export const circuitStates = ['closed', 'half_open', 'open'] as const;
export type CircuitState = (typeof circuitStates)[number];

export interface CircuitLimits {
  readonly failureThreshold: number;
  readonly successThreshold: number;
  readonly openMs: number;
  readonly maxProbes: number;
}

/** What a call says about the thing that it called; `none` says nothing. */
export type Verdict = 'success' | 'failure' | 'none';

export const closedCircuit: Circuit = { type: 'closed', failures: 0 };

/** A call asks to pass. @returns the circuit with it under way, or null: it is refused. */
export function admit(circuit: Circuit, now: number, limits: CircuitLimits): Circuit | null {
  switch (circuit.type) {
    case 'closed':
      return circuit;
    case 'open':
      return now < circuit.until ? null : { type: 'half_open', successes: 0, probes: 1 };
    case 'half_open': {
      // Never more than could still be needed to close: a recovering service gets those and no others.
      const needed = limits.successThreshold - circuit.successes;
      const isFull = circuit.probes >= Math.min(limits.maxProbes, needed);
      return isFull ? null : { ...circuit, probes: circuit.probes + 1 };
    }
    default:
      return unreachable(circuit);
  }
}

/** A call that this very state admitted has ended. Verdicts on an earlier state must not come here. */
export function settle(
  circuit: Circuit,
  verdict: Verdict,
  now: number,
  limits: CircuitLimits,
): Circuit {
  switch (circuit.type) {
    case 'closed':
      return settleClosed(circuit, verdict, now, limits);
    case 'half_open':
      return settleProbe(circuit, verdict, now, limits);
    case 'open':
      return circuit;
    default:
      return unreachable(circuit);
  }
}

function settleClosed(
  circuit: Extract<Circuit, { type: 'closed' }>,
  verdict: Verdict,
  now: number,
  limits: CircuitLimits,
): Circuit {
  if (verdict === 'none') return circuit;
  if (verdict === 'success') return closedCircuit;
  const failures = circuit.failures + 1;
  return failures >= limits.failureThreshold ? opened(now, limits) : { type: 'closed', failures };
}

function settleProbe(
  circuit: Extract<Circuit, { type: 'half_open' }>,
  verdict: Verdict,
  now: number,
  limits: CircuitLimits,
): Circuit {
  const probes = circuit.probes - 1;
  if (verdict === 'none') return { ...circuit, probes };
  if (verdict !== 'success') return opened(now, limits);
  const successes = circuit.successes + 1;
  return successes >= limits.successThreshold
    ? closedCircuit
    : { type: 'half_open', successes, probes };
}

function opened(now: number, { openMs }: CircuitLimits): Circuit {
  return { type: 'open', until: now + openMs };
}
