import { takenSignals } from '../core/answers.ts';
import type { HistoryEntry } from '../core/history.ts';
import type { Job, Task } from '../core/job.ts';
import { type InboxItem, type RefusalReason, refusalReasons, type Signal } from '../core/signal.ts';
import { isFinal } from '../core/status.ts';
import { CapatazError } from '../protocol/errors.ts';
import { nearest } from '../std/nearest.ts';
import type { Letter, Note, Store } from '../store/contract.ts';
import type { Committer } from './committer.ts';
import type { Address, Applied, Decider } from './decider.ts';
import type { Decision, OutsideAddress, SentSignal, SignalAnswer, SignalsPort } from './ports.ts';
import type { Registry } from './registry.ts';

export interface SignalsParts {
  readonly store: Store;
  readonly registry: Registry;
  readonly decider: Decider;
  readonly committer: Committer;
}

/** What people and programs tell jobs: named signals, and decisions on what was shown. */
export class Signals implements SignalsPort {
  readonly #parts: SignalsParts;

  constructor(parts: SignalsParts) {
    this.#parts = parts;
  }

  async send(signals: readonly SentSignal[]): Promise<SignalAnswer[]> {
    const { decider } = this.#parts;
    const routed = await Promise.all(signals.map((signal) => this.#route(signal)));
    const direct = routed.flatMap((jobIds, index) =>
      jobIds.map((jobId) => ({ index, address: outside(jobId, signals[index] as SentSignal) })),
    );
    const looks = await this.#looks(new Set(routed.flat()));
    const all = await decider.all([...looks, ...direct.map(({ address }) => address)]);
    const applied = all.slice(looks.length);
    const kept = await this.#keep(signals.filter((_, index) => routed[index]?.length === 0));
    return signals.map((signal, index) => {
      if (routed[index]?.length === 0) return kept.get(signal) ?? unknownAddress(signal);
      const own = direct.flatMap((item, place) => (item.index === index ? [applied[place]] : []));
      return answerOf(own as Applied[], (refused) => this.#refusal(signal, refused));
    });
  }

  /** The jobs that a signal goes to; none where nobody has registered its key. */
  async #route({ client, to }: SentSignal): Promise<string[]> {
    const { store } = this.#parts;
    if ('key' in to) return store.addressed(client, to.key);
    const job = await store.job(to.jobId);
    return job !== null && job.client === client ? [to.jobId] : [];
  }

  /** What came before lies in the inbox until the timekeeper looks; no later signal overtakes it. */
  async #looks(jobIds: ReadonlySet<string>): Promise<Address[]> {
    const looks = [...jobIds].map(async (jobId): Promise<Address[]> => {
      const items = await this.#parts.store.inbox(jobId);
      const isUnread = items.some(({ kind }) => kind === 'signal');
      return isUnread ? [{ jobId, inbox: true, signal: lookAt }] : [];
    });
    return (await Promise.all(looks)).flat();
  }

  /** Signals to keys that nobody has registered are kept, if their sender wants that. */
  async #keep(signals: readonly SentSignal[]): Promise<Map<SentSignal, SignalAnswer>> {
    const keepable = signals.filter(({ to, keepForMs = 0 }) => 'key' in to && keepForMs > 0);
    if (keepable.length === 0) return new Map();
    const { letters } = await this.#parts.committer.commit({ letters: keepable.map(letterOf) });
    return new Map(
      keepable.map((signal, index) => {
        const jobIds = letters[index] ?? [];
        return [signal, { type: jobIds.length > 0 ? 'taken' : 'kept', jobIds }];
      }),
    );
  }

  #refusal({ name }: SentSignal, applied: Applied | undefined): CapatazError {
    const job = applied?.type === 'refused' ? applied.job : null;
    const blueprint = job && this.#parts.registry.find(job.blueprint, job.blueprintVersion);
    return signalRefusal(applied, name, job === null ? [] : takenSignals(job, blueprint));
  }

  async decide(jobId: string, decision: Decision): Promise<{ job: Job; repeated: boolean }> {
    const signal: Signal = { type: 'decided', ...decision };
    const applied = await this.#parts.decider.one({
      jobId,
      signal: () => signal,
      onRefusal: (reason) =>
        refusalEntries(reason, `decision ${decision.decision}`, decision.actor),
    });
    if (applied.type === 'done') return { job: applied.job, repeated: false };
    if (applied.type === 'refused' && applied.reason === 'decided_already' && applied.job !== null)
      return { job: applied.job, repeated: true };
    throw decisionRefusal(jobId, applied);
  }
}

function lookAt(_task: Task | null, items: readonly InboxItem[]): Signal {
  return { type: 'inbox', items, at: null };
}

function outside(jobId: string, { name, id, data, actor }: SentSignal): Address {
  return {
    jobId,
    signalId: id,
    signal: () => ({ type: 'outside', name, id, data, actor }),
    onRefusal: (reason, { state }, said) =>
      reason === 'signal_seen' ? [] : [refusedSignal({ name, id, actor }, { reason, state, said })],
  };
}

function refusedSignal(
  { name, id, actor }: Pick<SentSignal, 'name' | 'id' | 'actor'>,
  { reason, state, said }: { reason: RefusalReason; state: string; said: string | undefined },
): HistoryEntry {
  const details = { what: `signal ${name}`, id, ...(said === undefined ? {} : { said }) };
  return { type: 'signal_refused', reason, state, actor, details };
}

function refusalEntries(reason: RefusalReason, what: string, actor: string): Note['entries'] {
  return [{ type: 'signal_refused', reason, actor, details: { what } }];
}

function letterOf({ client, to, name, id, data, keepForMs = 0 }: SentSignal): Letter {
  return {
    client,
    key: (to as OutsideAddress & { key: string }).key,
    item: { id: `signal:${id}`, kind: 'signal', name, body: data },
    keepForMs,
  };
}

/** Several jobs may share a key: taken by one is taken. */
function answerOf(
  applied: readonly Applied[],
  refusal: (refused: Applied | undefined) => CapatazError,
): SignalAnswer {
  const jobIds: string[] = [];
  let refused: Applied | undefined;
  for (const one of applied) {
    const isSeen = one.type === 'refused' && one.reason === 'signal_seen';
    if (one.type === 'done' || isSeen) jobIds.push(one.job?.id ?? '');
    else refused = one;
  }
  if (jobIds.length > 0) return { type: 'taken', jobIds };
  return { type: 'refused', error: refusal(refused) };
}

function unknownAddress({ to }: SentSignal): SignalAnswer {
  const error =
    'key' in to
      ? new CapatazError('JOB_NOT_FOUND', `no open job has registered the key "${to.key}"`)
      : new CapatazError('JOB_NOT_FOUND', `there is no job ${to.jobId}`);
  return { type: 'refused', error };
}

function signalRefusal(
  applied: Applied | undefined,
  name: string,
  takes: readonly string[],
): CapatazError {
  if (applied?.type !== 'refused') return blueprintMissing();
  const { reason, job, said } = applied;
  const details = {
    reason,
    ...(said === undefined ? {} : { said }),
    ...(job === null ? {} : { status: job.status, state: job.state }),
  };
  if (job !== null && isFinal(job.status))
    return new CapatazError('ALREADY_FINAL', `job ${job.id} is ${job.status} already`, details);
  if (said !== undefined) return new CapatazError('SIGNAL_REFUSED', said, details);
  if (reason !== 'signal_not_expected' || takes.length === 0)
    return new CapatazError('SIGNAL_REFUSED', refusalReasons[reason], details);
  const message = `${refusalReasons[reason]} ${taking(name, takes)}`;
  return new CapatazError('SIGNAL_REFUSED', message, { ...details, takes: [...takes] });
}

function taking(name: string, takes: readonly string[]): string {
  const meant = nearest(name, takes);
  return `It takes ${takes.join(', ')}${meant === null ? '' : `; did you mean ${meant}?`}`;
}

function decisionRefusal(jobId: string, applied: Applied): CapatazError {
  if (applied.type !== 'refused') return blueprintMissing();
  const { reason, job } = applied;
  if (job === null) return new CapatazError('JOB_NOT_FOUND', `there is no job ${jobId}`);
  const details = { reason, status: job.status };
  return new CapatazError('DECISION_REFUSED', refusalReasons[reason], details);
}

function blueprintMissing(): CapatazError {
  const text = 'no server here has the blueprint of the job; name its folder with --blueprints';
  return new CapatazError('NOT_READY', text);
}
