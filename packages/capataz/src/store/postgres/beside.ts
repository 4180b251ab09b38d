import { canonicalJson } from '../../std/json.ts';
import { signalIdOf } from '../rules.ts';
import { bigint, boolean, double, text } from './columns.ts';
import type { Write } from './connections.ts';
import { pairKey, type WorkingSet } from './working-set.ts';
import { type Columns, listWrite, rowsWrite } from './write.ts';

/** What lies beside the jobs: inboxes, letters, shares, keys and events on their way to the bus. */
export function besideWrites(set: WorkingSet): Write[] {
  return [
    ...inboxWrites(set),
    ...seenWrites(set),
    ...addressWrites(set),
    ...letterWrites(set),
    ...shareWrites(set),
    ...keyWrites(set),
    ...outboxWrites(set),
  ];
}

interface ItemRow {
  readonly job: string;
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly body: string;
  readonly expires_at: number | null;
}

const itemColumns: Columns<ItemRow> = {
  job: text,
  id: text,
  kind: text,
  name: text,
  body: text,
  expires_at: bigint,
};

function inboxWrites({ data, before, inboxRows }: WorkingSet): Write[] {
  const fresh: ItemRow[] = [];
  const gone: number[] = [];
  const cleared: string[] = [];
  for (const [job, owner] of data.open) {
    const was = before.get(job);
    const kept = new Set(owner.inbox);
    for (const record of was?.inbox ?? []) {
      const row = inboxRows.get(record);
      if (!kept.has(record) && row !== undefined) gone.push(row);
    }
    for (const record of owner.inbox) {
      if (inboxRows.has(record)) continue;
      const { item, expiresAt } = record;
      const { id, kind, name, body } = item;
      fresh.push({ job, id, kind, name, body: canonicalJson(body), expires_at: expiresAt });
    }
    if (was !== undefined && was.memos !== owner.memos) cleared.push(job);
  }
  return [
    ...listWrite('memos-delete', cleared),
    ...listWrite('inbox-delete', gone),
    ...rowsWrite('inbox-insert', fresh, itemColumns),
  ];
}

/** An ended job keeps what it has seen until it is forgotten. */
function seenWrites({ data, before }: WorkingSet): Write[] {
  const jobs: string[] = [];
  const ids: string[] = [];
  const add = (job: string, seen: ReadonlySet<string>): void => {
    const was = before.get(job)?.seen;
    for (const id of seen) {
      if (was?.has(id)) continue;
      jobs.push(job);
      ids.push(id);
    }
  };
  for (const [job, { seen }] of data.open) add(job, seen);
  for (const [job, seen] of data.seenByEnded) add(job, seen);
  return listWrite('seen-insert', jobs, ids);
}

function addressWrites({ data, addressesBefore }: WorkingSet): Write[] {
  const addresses: string[] = [];
  const jobs: string[] = [];
  for (const [address, registered] of data.addresses) {
    for (const job of registered) {
      if (addressesBefore.has(pairKey(address, job))) continue;
      addresses.push(address);
      jobs.push(job);
    }
  }
  return listWrite('addresses-insert', addresses, jobs);
}

function letterWrites({ data, letterRows }: WorkingSet): Write[] {
  const kept = new Set(data.letters);
  const gone = [...letterRows].flatMap(([letter, row]) => (kept.has(letter) ? [] : [row]));
  const fresh = data.letters.filter((letter) => !letterRows.has(letter));
  const rows = fresh.map(({ address, item: { id, kind, name, body }, expiresAt }) => ({
    ...{ address, id, kind, name, body: canonicalJson(body) },
    signal: signalIdOf(id),
    expires_at: expiresAt,
  }));
  return [
    ...listWrite('letters-delete', gone),
    ...rowsWrite('letters-insert', rows, {
      address: text,
      signal: text,
      id: text,
      kind: text,
      name: text,
      body: text,
      expires_at: bigint,
    }),
  ];
}

function shareWrites({ data, shareRows, sums }: WorkingSet): Write[] {
  const kept = new Set(data.reservations);
  const gone = [...shareRows].flatMap(([share, row]) => (kept.has(share) ? [] : [row]));
  const fresh = data.reservations.filter((share) => !shareRows.has(share) && !sums.has(share));
  const rows = fresh.map(({ jobId: job, key, amount, expiresAt, until }) => ({
    ...{ job, key, amount, expires_at: expiresAt },
    until_wait: until === 'wait',
  }));
  return [
    ...listWrite('shares-delete', gone),
    ...rowsWrite('shares-insert', rows, {
      key: text,
      job: text,
      amount: double,
      expires_at: bigint,
      until_wait: boolean,
    }),
  ];
}

interface KeyRow {
  readonly client: string;
  readonly key: string;
  readonly body_hash: string;
  readonly job: string;
  readonly expires_at: number;
}

const keyColumns: Columns<KeyRow> = {
  client: text,
  key: text,
  body_hash: text,
  job: text,
  expires_at: bigint,
};

/** A key that somebody else has stored meanwhile is a conflict, after which the whole is done again. */
function keyWrites({ data, keyRows }: WorkingSet): Write[] {
  const gone: { client: string; key: string; jobId: string }[] = [];
  const rows: KeyRow[] = [];
  for (const [name, used] of data.keys) {
    const was = keyRows.get(name);
    if (was === used) continue;
    const [client = ''] = JSON.parse(name) as [string, string];
    const { key, bodyHash, jobId, expiresAt } = used;
    if (was !== undefined) gone.push({ client, key, jobId: was.jobId });
    rows.push({ client, key, body_hash: bodyHash, job: jobId, expires_at: expiresAt });
  }
  const clients = gone.map(({ client }) => client);
  const keys = gone.map(({ key }) => key);
  const jobs = gone.map(({ jobId }) => jobId);
  return [
    ...listWrite('keys-delete', clients, keys, jobs),
    ...rowsWrite('keys-insert', rows, keyColumns),
  ];
}

function outboxWrites({ data }: WorkingSet): Write[] {
  const rows = data.outbox.map(({ event }) => {
    const { id, jobId: job, name, payload, createdAt: _, retryCount: __, ...rest } = event;
    const { lastError: ___, ...metadata } = rest;
    const texts = { payload: JSON.stringify(payload), metadata: JSON.stringify(metadata) };
    return { id, job, name, ...texts };
  });
  return rowsWrite('outbox-insert', rows, {
    id: text,
    job: text,
    name: text,
    payload: text,
    metadata: text,
  });
}
