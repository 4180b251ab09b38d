import type { Clock } from 'capataz/server';
import type { Calls } from './calls.ts';
import { ControlRoomError, type DeployOrder, type DeployOutcome } from './contract.ts';
import { objectOf, reasonOf, refusalOf, retryAfterMs } from './refusal.ts';
import { type HttpAnswer, TransportError } from './transport.ts';

interface Deployer {
  readonly calls: Calls;
  readonly clock: Clock;
}

/**
 * One deploy call, and what is known after it. The Control Room has no key that would make a second
 * call harmless, so that what may have been acted on is never sent again (LH-1, S-84).
 */
export async function deploy(
  { calls, clock }: Deployer,
  order: DeployOrder,
): Promise<DeployOutcome> {
  try {
    const sent = await calls.send(
      '/v4/automations/deploy',
      JSON.stringify(bodyOf(order)),
      order.mayLeave,
    );
    switch (sent.type) {
      case 'answer':
        return outcomeOf(sent.answer, clock.now());
      case 'unauthorized':
        return { outcome: 'unauthorized', message: sent.message };
      case 'closed':
        return {
          outcome: 'refused',
          status: 429,
          code: null,
          message: 'not sent: the Control Room asked to be left alone',
          reason: 'too_many',
          retryAfterMs: sent.retryAfterMs,
        };
    }
  } catch (error) {
    return outcomeOfError(error);
  }
}

function bodyOf({ robotId, userId, automationName, botInput, callback }: DeployOrder) {
  return {
    botId: robotId,
    automationName,
    unattendedRequest: {
      runAsUserIds: [userId],
      deviceUsageType: 'RUN_ONLY_ON_DEFAULT_DEVICE',
    },
    botInput,
    ...(callback === null ? {} : { callbackInfo: callback }),
  };
}

function outcomeOf({ status, headers, text }: HttpAnswer, now: number): DeployOutcome {
  const after = retryAfterMs(headers, now);
  if (status >= 200 && status < 300) {
    const deploymentId = objectOf(text)?.deploymentId;
    if (typeof deploymentId === 'string' && deploymentId !== '')
      return { outcome: 'accepted', deploymentId };
    const message = 'the answer has no deploymentId';
    return { outcome: 'ambiguous', status, message, retryAfterMs: after };
  }
  const refusal = refusalOf(status, text);
  // 408 comes from proxies that gave up on a call which they may have passed on.
  if (status >= 500 || status === 408)
    return { outcome: 'ambiguous', status, message: refusal.message, retryAfterMs: after };
  return { outcome: 'refused', ...refusal, reason: reasonOf(refusal), retryAfterMs: after };
}

function outcomeOfError(error: unknown): DeployOutcome {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof ControlRoomError)
    return error.kind === 'credentials'
      ? { outcome: 'unauthorized', message }
      : { outcome: 'unsent', message };
  if (error instanceof TransportError && !error.isSent) return { outcome: 'unsent', message };
  return { outcome: 'ambiguous', status: null, message, retryAfterMs: null };
}
