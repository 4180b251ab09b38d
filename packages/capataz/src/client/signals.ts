import { CapatazError } from '../protocol/errors.ts';
import type { AddressedSignal, SignalsAnswer } from '../protocol/signals-api.ts';
import type { Duration } from '../std/duration.ts';
import type { JsonValue } from '../std/json.ts';
import type { Random } from '../std/random.ts';
import { type Http, refusalIn } from './http.ts';
import { seconds } from './jobs.ts';

/** To one job, or to all that have registered a key. */
export type SignalToSend = { readonly jobId: string } | SignalToKey;

interface SignalToKey {
  readonly key: string;
  /** How long it is kept if nobody has registered the key yet. Default: it is refused. */
  readonly keepFor?: Duration;
}

interface SignalContent {
  readonly name: string;
  /** Default null. */
  readonly data?: JsonValue;
  /** The same one again changes nothing. Default: a new one. */
  readonly signalId?: string;
}

export interface SentSignal {
  readonly status: 'accepted' | 'kept';
  readonly signalId: string;
  /** The jobs that took it; none while it is kept. */
  readonly jobIds: readonly string[];
}

export interface Signals {
  /** Up to 1,000, answered in order; a refused one harms none of the others. */
  send(signals: readonly (SignalToSend & SignalContent)[]): Promise<(SentSignal | CapatazError)[]>;
}

export function createSignals({ http, random }: { http: Http; random: Random }): Signals {
  return {
    async send(signals) {
      const answers = await http.json<SignalsAnswer>({
        method: 'POST',
        path: '/api/v1/signals',
        body: signals.map((signal) => bodyOf(signal, random)),
        // Their ids make a repetition harmless.
        retry: 'always',
      });
      return answers.map((answer) => {
        if (answer.status !== 'refused')
          return { status: answer.status, signalId: answer.id, jobIds: answer.job_ids };
        const { code = 'INTERNAL', error = answer.error, details } = refusalIn({ ...answer });
        return new CapatazError(code, error, details);
      });
    },
  };
}

function bodyOf(signal: SignalToSend & SignalContent, random: Random): AddressedSignal {
  const { name, data, signalId = random.id() } = signal;
  return {
    name,
    id: signalId,
    ...(data === undefined ? {} : { data }),
    ...('key' in signal ? keyBody(signal) : { job_id: signal.jobId }),
  };
}

function keyBody({ key, keepFor }: SignalToKey): Pick<AddressedSignal, 'key' | 'keep_for'> {
  return { key, ...(keepFor === undefined ? {} : { keep_for: seconds(keepFor) }) };
}
