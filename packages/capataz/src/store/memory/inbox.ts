import type { Post } from '../../core/change.ts';
import type { InboxItem } from '../../core/signal.ts';
import type { Letter } from '../contract.ts';
import { maxEarly, rungAt, signalIdOf } from '../rules.ts';
import { copyOf, type InboxRecord, type MemoryData, type OpenJob } from './data.ts';

/** What jobs, branches and early senders leave for a job. */

/** The job is to look into its inbox as soon as may be. */
export function ring(owner: OpenJob, at: number): void {
  owner.deadlines = { ...owner.deadlines, inbox: rungAt(owner.deadlines.inbox, at) };
}

export function putIn(owner: OpenJob, item: InboxItem, expiresAt: number | null, at: number): void {
  owner.inbox = unexpired(owner, at);
  if (owner.inbox.some(({ item: { id } }) => id === item.id)) return;
  owner.inbox.push({ item: copyOf(item), expiresAt });
}

export function unexpired(owner: OpenJob, at: number): InboxRecord[] {
  return owner.inbox.filter(({ expiresAt }) => expiresAt === null || expiresAt > at);
}

function signalsIn(owner: OpenJob, at: number): number {
  return unexpired(owner, at).filter(({ item }) => item.kind === 'signal').length;
}

export function isFull(owner: OpenJob | undefined, posts: readonly Post[], at: number): boolean {
  if (owner === undefined) return false;
  const isOwnSignal = ({ jobId, item }: Post): boolean =>
    jobId === owner.job.id && item.kind === 'signal';
  if (!posts.some(isOwnSignal)) return false;
  return signalsIn(owner, at) >= maxEarly;
}

/** Thrown away where nobody is there to read it. */
export function deliver(data: MemoryData, { jobId, item, expiresAfterMs }: Post, at: number): void {
  const owner = data.open.get(jobId);
  if (owner === undefined) return;
  const { wait } = owner.job;
  if (item.kind === 'child' && !(wait?.type === 'child' && wait.jobId === item.id)) return;
  putIn(owner, item, expiresAfterMs === null ? null : at + expiresAfterMs, at);
  if (item.kind !== 'signal') ring(owner, at);
}

export function addressKey(client: string, key: string): string {
  return JSON.stringify([client, key]);
}

export function addressed(data: MemoryData, client: string, key: string): OpenJob[] {
  const ids = data.addresses.get(addressKey(client, key)) ?? new Set<string>();
  return [...data.open.values()].filter(({ job }) => ids.has(job.id));
}

/** Letters that were kept for this key come in now. */
export function register(data: MemoryData, owner: OpenJob, key: string, at: number): void {
  const address = addressKey(owner.job.client, key);
  const ids = data.addresses.get(address) ?? new Set<string>();
  data.addresses.set(address, ids.add(owner.job.id));
  for (const letter of data.letters) {
    if (letter.address !== address || letter.expiresAt <= at) continue;
    receive(owner, letter.item, letter.expiresAt, at);
  }
  data.letters = data.letters.filter((letter) => letter.address !== address);
}

/** @returns the jobs that got it. */
export function post(data: MemoryData, letter: Letter, at: number): string[] {
  const { client, key, item, keepForMs } = letter;
  const owners = addressed(data, client, key);
  for (const owner of owners) receive(owner, item, at + keepForMs, at);
  const address = addressKey(client, key);
  const isKept = data.letters.some(
    (kept) => kept.address === address && kept.item.id === item.id && kept.expiresAt > at,
  );
  if (owners.length === 0 && keepForMs > 0 && !isKept) {
    data.letters.push({ address, item: copyOf(item), expiresAt: at + keepForMs });
  }
  return owners.map(({ job }) => job.id);
}

function receive(owner: OpenJob, item: InboxItem, expiresAt: number, at: number): void {
  const id = signalIdOf(item.id);
  if (owner.seen.has(id) || signalsIn(owner, at) >= maxEarly) return;
  owner.seen.add(id);
  putIn(owner, item, expiresAt, at);
  ring(owner, at);
}
