import { maxEarly, signalIdOf } from '../rules.ts';
import { beside } from './beside.ts';
import type { AlsoMessage, ItemMessage, LetterMessage, PostMessage } from './messages.ts';
import { textAt } from './texts.ts';
import { ring } from './times.ts';
import type { WriterState } from './writer-state.ts';

/** What jobs, branches and early senders leave for a job. */

interface Item {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly body: string;
}

/** An open job that gets something; `beside` are the bits in its row. */
export interface Receiver {
  readonly n: number;
  readonly beside: number;
}

function itemOf({ body, ...item }: ItemMessage, texts: readonly string[]): Item {
  return { ...item, body: textAt(texts, body) };
}

/** How many signals lie there that have not expired. */
export function signalsIn({ statements }: WriterState, job: number, at: number): number {
  return statements.one<{ count: number }>('inbox-signals', job, at).count;
}

/** Thrown away where nobody is there to read it. */
export function deliver(
  state: WriterState,
  { jobId, item, expiresAt }: PostMessage,
  texts: readonly string[],
  at: number,
): void {
  const child = item.kind === 'child' ? item.id : null;
  const owner = state.statements.get<Receiver & { takes: number }>('job-receiver', jobId, child);
  if (owner?.takes !== 1) return;
  putIn(state, owner, itemOf(item, texts), expiresAt, at);
  if (item.kind !== 'signal') ring(state, owner.n, at);
}

function putIn(
  state: WriterState,
  owner: Receiver,
  { id, kind, name, body }: Item,
  expiresAt: number | null,
  at: number,
): void {
  state.statements.run('inbox-expire', owner.n, at);
  state.statements.run('inbox-insert', owner.n, id, kind, name, body, expiresAt);
  mark(state, owner, beside.inbox);
}

export function mark(
  { statements }: WriterState,
  { n, beside: known }: Receiver,
  bits: number,
): void {
  if ((known & bits) !== bits) statements.run('job-mark', n, bits);
}

/** The same id comes in once. */
function receive(
  state: WriterState,
  owner: Receiver,
  item: Item,
  expiresAt: number,
  at: number,
): void {
  if (signalsIn(state, owner.n, at) >= maxEarly) return;
  if (state.statements.run('seen-insert', owner.n, signalIdOf(item.id)).changes === 0) return;
  mark(state, owner, beside.seen);
  putIn(state, owner, item, expiresAt, at);
  ring(state, owner.n, at);
}

/** @returns the ids of the jobs that got it. */
export function postLetter(
  state: WriterState,
  letter: LetterMessage,
  texts: readonly string[],
  at: number,
): string[] {
  const { statements } = state;
  const { client, key, expiresAt } = letter;
  const item = itemOf(letter.item, texts);
  const owners = statements.all<Receiver & { id: string }>('addressed', client, key);
  for (const owner of owners) receive(state, owner, item, expiresAt, at);
  if (owners.length === 0 && expiresAt > at) {
    const { id, kind, name, body } = item;
    statements.run('letter-expire', client, key, id, at);
    statements.run('letter-insert', client, key, id, kind, name, body, expiresAt);
  }
  return owners.map(({ id }) => id);
}

interface LetterRow extends Item {
  readonly n: number;
  readonly expires_at: number;
}

/** Letters that were kept for this key come in now. */
function register(
  state: WriterState,
  owner: Receiver & { readonly client: string },
  key: string,
  at: number,
): void {
  const { client, n } = owner;
  state.statements.run('address-insert', client, key, n);
  const letters = state.statements.all<LetterRow>('letters-take', client, key);
  letters.sort((a, b) => a.n - b.n);
  for (const letter of letters) {
    if (letter.expires_at > at) receive(state, owner, letter, letter.expires_at, at);
  }
}

/** What a change leaves in the inboxes of others; of a job that goes on, also what it does to its own. */
export function writeInboxes(
  state: WriterState,
  n: number,
  owner: (Receiver & { readonly client: string }) | null,
  also: AlsoMessage,
  texts: readonly string[],
  at: number,
): void {
  const { statements } = state;
  const { signalId, takes, posts, keys, looks } = also;
  if (signalId !== null) statements.run('seen-insert', n, signalId);
  for (const id of owner === null ? [] : takes) statements.run('inbox-take', owner?.n ?? 0, id);
  for (const post of posts) deliver(state, post, texts, at);
  if (owner === null) return;
  for (const key of keys) register(state, owner, key, at);
  const mayHold =
    (owner.beside & beside.inbox) !== 0 || keys.length > 0 || also.children.length > 0;
  if (looks && mayHold && signalsIn(state, owner.n, at) > 0) ring(state, owner.n, at);
}
