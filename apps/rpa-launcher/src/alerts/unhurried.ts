import type { Alerts } from './contract.ts';

/** The same alerts for those who must not wait until a mail has gone: a slow mail server holds up no robot. */
export function unhurried(alerts: Alerts): Alerts {
  return {
    raise: async (alert) => {
      // It does not throw, nor does clearing.
      void alerts.raise(alert);
      return 'waiting';
    },
    clear: async (kind, key, facts) => void alerts.clear(kind, key, facts),
    reread: () => alerts.reread(),
    current: () => alerts.current(),
    close: () => alerts.close(),
  };
}
