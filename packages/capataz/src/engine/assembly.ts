import { isFinal } from '../core/status.ts';
import { FileCleaner } from '../files/cleaner.ts';
import { aboutJob } from './about-job.ts';
import { HeldAttempts } from './attempts.ts';
import { BlackoutGate, noBlackouts } from './blackout-gate.ts';
import { Books } from './books.ts';
import { type Committed, Committer } from './committer.ts';
import { Deference } from './deference.ts';
import { JobCache } from './job-cache.ts';
import { Lobby } from './lobby.ts';
import type { EngineOptions } from './options.ts';
import { Profiles } from './profiles.ts';
import { defaultRelay, type EventSink, Relay, type RelayOptions } from './relay.ts';
import type { Workers } from './workers.ts';

/** What hands tasks out, and knows who holds them. */
export interface DispatchParts {
  readonly held: HeldAttempts;
  readonly cache: JobCache;
  readonly lobby: Lobby;
  readonly committer: Committer;
  /** Null where the store serves one instance. */
  readonly deference: Deference | null;
  readonly gate: BlackoutGate;
}

/** @param workers are made with these parts, and asked later */
export function dispatchParts(
  options: EngineOptions,
  workers: () => Pick<Workers, 'elsewhere'>,
): DispatchParts {
  const { store, random } = options;
  const held = new HeldAttempts();
  const cache = new JobCache();
  const profiles = new Profiles();
  const deference: Deference | null = store.capabilities.shared
    ? new Deference({
        ...options,
        profiles,
        elsewhere: () => workers().elsewhere(),
        loads: () => store.loads(),
        offer: (wake) => committer.offer([wake]),
      })
    : null;
  const leaving = deference === null ? {} : { deference };
  const gate = new BlackoutGate({
    ...options,
    now: () => committer.time.now(),
    calendar: options.blackouts ?? noBlackouts,
    onOpen: () => committer.handOutSoon(),
  });
  const lobby = new Lobby({ held, random, profiles, gate, ...leaving });
  const committer: Committer = new Committer({ ...options, lobby, cache, held });
  return { held, cache, lobby, committer, deference, gate };
}

export function booksOf({ store, archive = 'off' }: EngineOptions): Books {
  return new Books(store, archive === 'off' ? null : archive);
}

export function fileCleaner({ files, store, clock, log }: EngineOptions): FileCleaner | null {
  if (files === undefined) return null;
  const mayRemove = async (jobId: string): Promise<boolean> => {
    const job = await store.job(jobId);
    return job === null || (!files.keep && isFinal(job.status));
  };
  return new FileCleaner({ files, mayRemove, about: (id) => aboutJob(store, id), clock, log });
}

/** Quarantined jobs are none that have ended, and keep theirs. */
export function removeFiles({ done }: Committed, cleaner: FileCleaner): void {
  for (const { outcome } of done) {
    if (isFinal(outcome.job.status)) cleaner.onEnded(outcome.job.id);
  }
}

export function relayOf({
  sink,
  relay = {},
  ...parts
}: {
  readonly sink: EventSink | undefined;
  readonly relay: Partial<RelayOptions> | undefined;
} & Omit<ConstructorParameters<typeof Relay>[0], 'sink' | 'options'>): Relay | null {
  if (sink === undefined) return null;
  return new Relay({ ...parts, sink, options: { ...defaultRelay, ...relay } });
}
