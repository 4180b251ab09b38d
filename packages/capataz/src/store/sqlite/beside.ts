/**
 * What other tables may know of a job: a bit each in its row. A change reads the row anyhow, so that
 * it asks those tables only where there may be something.
 */
export const beside = {
  shares: 1,
  /** Shares that are given back when the wait ends. */
  waitShares: 2,
  memos: 4,
  inbox: 8,
  seen: 16,
  addresses: 32,
  waiters: 64,
} as const;

/**
 * Statements that delete what is known of a job at its end; shares are given back rather than deleted,
 * so is a place in a line, and the signals that it took are known until it is forgotten.
 */
export const besideDeletes = [
  [beside.memos, 'memos-delete'],
  [beside.inbox, 'inbox-delete'],
  [beside.addresses, 'addresses-delete'],
] as const;
