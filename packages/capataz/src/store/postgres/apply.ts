import type { Change } from '../../core/change.ts';
import type { Work, WorkOutcome } from '../contract.ts';
import { applyChained } from '../memory/changes.ts';
import { applyClaim, applyStart } from '../memory/claims.ts';
import { post } from '../memory/inbox.ts';
import { Chains, HandOutRoom } from '../rules.ts';
import { classId, type WorkingSet } from './working-set.ts';

/**
 * Applies the rules of the memory store to what was read. One place says what a change may do; here
 * it is done to the few records that it touches instead of to all.
 */
export function applyWork(set: WorkingSet, work: Work): WorkOutcome {
  const { changes = [], starts = [], notes = [], letters = [], claims = [] } = work;
  const { data, at, queue } = set;
  const chains = new Chains();
  const changeOutcomes = changes.map((request) => {
    const outcome = applyChained(data, request, at, chains);
    if (outcome.type === 'done') lookAt(set, request.change);
    return outcome;
  });
  for (const start of starts) applyStart(data, start, at);
  for (const { jobId, entries } of notes) {
    const job = data.open.get(jobId)?.job ?? data.ended.get(jobId);
    if (job !== undefined) data.write(job, entries);
  }
  const letterOutcomes = letters.map((letter) => post(data, letter, at));
  const room = new HandOutRoom();
  const claimOutcomes = claims.map((claim) => {
    const outcome = applyClaim(data, claim, room, at, queue);
    const drained = outcome.drained.filter((key) => !set.fullClasses.has(classId(key)));
    return { ...outcome, drained };
  });
  return { at, changes: changeOutcomes, claims: claimOutcomes, letters: letterOutcomes };
}

/** What a change has queued, claims find. */
function lookAt(set: WorkingSet, { job, also }: Change): void {
  set.queue.look(job.id);
  for (const child of also?.children ?? []) lookAt(set, child);
}
