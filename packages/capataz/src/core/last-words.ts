import { jsonWeight } from '../std/json.ts';
import type { Stop } from './blueprint.ts';
import { checkedEmission, maxPayload } from './checks.ts';
import { HandlerView } from './handler.ts';
import type { Step } from './step.ts';

/** Lets a job that is being stopped say so. It is stopped all the same where that fails. */
export function sayLastWords(step: Step, stop: Stop): void {
  const { onStop, context, job } = step;
  if (onStop === null) return;
  const view = new HandlerView(job, { ...context, stores: step.blueprint.stores });
  try {
    onStop(view, stop);
    const emissions = view.emissions.map(checkedEmission);
    const data = view.dataAfter();
    if (jsonWeight(data, maxPayload) >= maxPayload) return;
    step.set({ data });
    for (const emission of emissions) step.emit(emission);
  } catch {
    // Who stops a job must not need its code to be right.
  }
}
