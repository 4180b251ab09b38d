import type { Parameter } from './statements.ts';

/**
 * Columns of rows as arrays in the server's own binary form. Nothing is quoted here and unquoted
 * there, as it was while rows travelled as one JSON text.
 */
export type Encoder<Value> = (values: readonly Value[]) => Parameter;

/** The server's numbers of its types. */
const types = { boolean: 16, bigint: 20, text: 25, double: 701 } as const;

const headerBytes = 20;
const lengthBytes = 4;
/** UTF-8 of a UTF-16 unit takes no more. */
const maxUnitBytes = 3;
const twoTo32 = 2 ** 32;

/** Every array is put together here, and leaves as a copy of its length. */
let room = Buffer.allocUnsafeSlow(64 * 1024);

function begin(type: number, count: number, valueBytes: number): Buffer {
  const bytes = headerBytes + count * lengthBytes + valueBytes;
  if (room.length < bytes) room = Buffer.allocUnsafeSlow(2 * bytes);
  // An empty array has no dimension.
  room.writeInt32BE(count === 0 ? 0 : 1, 0);
  room.writeInt32BE(1, 4);
  room.writeInt32BE(type, 8);
  room.writeInt32BE(count, 12);
  room.writeInt32BE(1, 16);
  return room;
}

function finish(array: Buffer, end: number, count: number): Buffer {
  return Buffer.from(array.subarray(0, count === 0 ? 12 : end));
}

export function text(values: readonly (string | null)[]): Buffer {
  let units = 0;
  for (const value of values) units += value === null ? 0 : value.length;
  const array = begin(types.text, values.length, units * maxUnitBytes);
  let end = headerBytes;
  for (const value of values) {
    const bytes = value === null ? -1 : array.write(value, end + lengthBytes, 'utf8');
    array.writeInt32BE(bytes, end);
    end += lengthBytes + Math.max(0, bytes);
  }
  return finish(array, end, values.length);
}

/** Whole numbers below 2^53. */
export function bigint(values: readonly (number | null)[]): Buffer {
  return fixed(types.bigint, 8, values, (array, value, at) => {
    array.writeInt32BE(Math.floor(value / twoTo32), at);
    array.writeInt32BE(value | 0, at + 4);
  });
}

export function double(values: readonly (number | null)[]): Buffer {
  return fixed(types.double, 8, values, (array, value, at) => array.writeDoubleBE(value, at));
}

export function boolean(values: readonly boolean[]): Buffer {
  return fixed(types.boolean, 1, values, (array, value, at) => array.writeInt8(Number(value), at));
}

function fixed<Value>(
  type: number,
  size: number,
  values: readonly (Value | null)[],
  write: (array: Buffer, value: Value, at: number) => void,
): Buffer {
  const array = begin(type, values.length, values.length * size);
  let end = headerBytes;
  for (const value of values) {
    array.writeInt32BE(value === null ? -1 : size, end);
    end += lengthBytes;
    if (value === null) continue;
    write(array, value, end);
    end += size;
  }
  return finish(array, end, values.length);
}
