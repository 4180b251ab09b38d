/** On what is measured. */
export interface Setup {
  readonly store: (typeof storeNames)[number];
  /** Servers on one store; each has a worker process of its own. */
  readonly instances: number;
}

export const storeNames = ['sqlite', 'postgres'] as const;
