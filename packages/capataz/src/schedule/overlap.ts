/**
 * What a slot does while the job of an earlier one has not ended: start beside it, leave the slot
 * out, start when it has ended, or cancel it and start.
 */
export const overlapPolicies = ['allow', 'skip', 'queue', 'cancel_previous'] as const;
export type OverlapPolicy = (typeof overlapPolicies)[number];

/** A job of the schedule that has not ended. */
export interface OpenRun {
  readonly job: string;
  readonly slot: number;
}

/** How the job of a slot is started. */
export interface OverlapStart {
  /**
   * What it does where the one place of the schedule is taken; null: there is no such place. The store
   * decides it in the commit of the start, so that two instances can't both find it free.
   */
  readonly onBusy: 'skip' | 'queue' | null;
  /** Jobs to cancel before. */
  readonly cancel: readonly string[];
}

/** The own job of a slot and those of later ones are never cancelled, however late the decision. */
export function overlapStart(
  policy: OverlapPolicy,
  slot: number,
  open: readonly OpenRun[],
): OverlapStart {
  switch (policy) {
    case 'allow':
      return { onBusy: null, cancel: [] };
    case 'skip':
    case 'queue':
      return { onBusy: policy, cancel: [] };
    case 'cancel_previous':
      return { onBusy: null, cancel: open.filter((run) => run.slot < slot).map(({ job }) => job) };
  }
}
