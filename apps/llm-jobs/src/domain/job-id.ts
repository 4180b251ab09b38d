import { createHash, randomUUID } from 'node:crypto';

/** Jobs have UUIDs of version 4, as in the seed. */
export function newJobId(): string {
  return randomUUID();
}

/** One that is made of what it stands for: whoever says the same means the same job. */
export function jobIdFor(...named: readonly unknown[]): string {
  const bytes = createHash('sha256').update(JSON.stringify(named)).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
