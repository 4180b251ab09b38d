import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { codeOf } from '../config/toml.ts';
import { CapatazError } from '../protocol/errors.ts';

/** A worker id that no other living process of this host has claimed. */
export interface Slot {
  readonly id: string;
  /** 1 for the id as it was asked for, then 2, 3, … */
  readonly number: number;
  /** Free for others when it resolves. */
  release(): Promise<void>;
}

type Release = Slot['release'];

/** `file`: an address that outlives its process, which must be asked whether somebody is there. */
export type AddressKind = 'abstract' | 'pipe' | 'file';

const kindByPlatform: Readonly<Partial<Record<NodeJS.Platform, AddressKind>>> = {
  linux: 'abstract',
  win32: 'pipe',
};

const mostSlots = 1_000;
/** Leaves room for `-1000` within the 200 characters of an id. */
const longestBase = 195;

/**
 * The lowest free one of `base`, `base-2`, `base-3`…, so that a process that starts again gets the
 * id that it had. Claimed by listening on a local address, which the system frees when the process
 * dies, however it dies. (A lock file would need a guess whether its writer still lives; a lock of
 * SQLite is the store's business.)
 * @throws CapatazError CONFIG_INVALID when a thousand are taken
 */
export async function claimSlot(
  base: string,
  kind: AddressKind = kindByPlatform[process.platform] ?? 'file',
): Promise<Slot> {
  for (let number = 1; number <= mostSlots; number += 1) {
    const id = number === 1 ? base : `${base.slice(0, longestBase)}-${number}`;
    const release = await claim(addressOf(id, kind), kind);
    if (release !== null) return { id, number, release };
  }
  throw new CapatazError(
    'CONFIG_INVALID',
    `${mostSlots} workers with the id ${base} run on this host; give this one another with --id`,
  );
}

export function addressOf(id: string, kind: AddressKind): string {
  // Some systems allow a socket little more than 100 characters.
  const name = `capataz-worker-${createHash('sha256').update(id).digest('hex').slice(0, 32)}`;
  switch (kind) {
    case 'abstract':
      return `\0${name}`;
    case 'pipe':
      return `\\\\.\\pipe\\${name}`;
    case 'file':
      return join(tmpdir(), `${name}.sock`);
  }
}

/** @returns what gives the address back, or null when another process has it. */
async function claim(address: string, kind: AddressKind): Promise<Release | null> {
  const claimed = await listen(address);
  if (claimed !== 'taken') return claimed;
  if (kind !== 'file' || (await answers(address))) return null;
  // Left by a process that is gone. Two that find it in the same instant may both take it, which
  // only happens where there are no better addresses.
  rmSync(address, { force: true });
  const second = await listen(address);
  return second === 'taken' ? null : second;
}

/** A system without such sockets gives no protection, but must not keep the worker from working. */
function listen(address: string): Promise<'taken' | Release> {
  return new Promise((resolve) => {
    const server: Server = createServer((socket) => socket.destroy());
    server.once('error', (error) => {
      resolve(codeOf(error) === 'EADDRINUSE' ? 'taken' : async () => {});
    });
    server.listen({ path: address, exclusive: true }, () => {
      server.unref();
      resolve(() => new Promise((closed) => server.close(() => closed())));
    });
  });
}

function answers(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
