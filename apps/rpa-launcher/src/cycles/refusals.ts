import type { AlertKind } from '../alerts/contract.ts';
import type { RefusalReason } from '../control-room/contract.ts';

/** What follows from a deployment that the Control Room refused (spec 6, LH-7, LH-21). */
export interface RefusalRule {
  /** Tried again at once, as often as the settings say. */
  readonly retries: boolean;
  /** The execution ends as DEPLOY_FAILED; else it waits, and a later cycle tries it again. */
  readonly isFinal: boolean;
  /** The robot waits longer and longer before it is tried on the device again. */
  readonly backsOff: boolean;
  /** The assignment that was used is taken away, restorably. */
  readonly removes: boolean;
  /** The robot is switched off. */
  readonly suspends: boolean;
  readonly alert: { readonly kind: AlertKind; readonly about: 'device' | 'robot' | 'user' } | null;
}

const temporary: RefusalRule = {
  retries: true,
  isFinal: false,
  backsOff: false,
  removes: false,
  suspends: false,
  alert: null,
};
const lasting: RefusalRule = { ...temporary, retries: false, backsOff: true };

export const refusalRules: Readonly<Record<RefusalReason, RefusalRule>> = {
  device_unavailable: { ...temporary, alert: { kind: 'device_unavailable', about: 'device' } },
  too_many: temporary,
  robot_without_targets: {
    ...lasting,
    isFinal: true,
    suspends: true,
    alert: { kind: 'robot_without_targets', about: 'robot' },
  },
  user_without_device: {
    ...lasting,
    isFinal: true,
    alert: { kind: 'user_without_device', about: 'user' },
  },
  runner_session: {
    ...lasting,
    isFinal: true,
    removes: true,
    alert: { kind: 'runner_session', about: 'device' },
  },
  bad_request: {
    ...lasting,
    isFinal: true,
    removes: true,
    alert: { kind: 'bad_request', about: 'device' },
  },
  forbidden: { ...lasting, alert: { kind: 'deploy_refused', about: 'robot' } },
  not_found: { ...lasting, alert: { kind: 'deploy_refused', about: 'robot' } },
  other: { ...lasting, alert: { kind: 'deploy_refused', about: 'robot' } },
};
