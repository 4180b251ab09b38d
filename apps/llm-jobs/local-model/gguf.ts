/** Writes files of llama.cpp's format, version 3: as much of it as a small model needs. */

export type GgufValue =
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'whole'; readonly value: number }
  | { readonly type: 'float'; readonly value: number }
  | { readonly type: 'texts'; readonly value: readonly string[] }
  | { readonly type: 'wholes'; readonly value: readonly number[] }
  | { readonly type: 'floats'; readonly value: readonly number[] };

export interface Tensor {
  readonly name: string;
  /** The length of a row first. */
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

const codes = { uint32: 4, int32: 5, float32: 6, string: 8, array: 9 } as const;
const alignment = 32;

export function gguf(
  metadata: Readonly<Record<string, GgufValue>>,
  tensors: readonly Tensor[],
): Buffer {
  const entries = Object.entries(metadata);
  const head = [Buffer.from('GGUF'), uint32(3), uint64(tensors.length), uint64(entries.length)];
  const keys = entries.flatMap(([key, value]) => [string(key), encoded(value)]);
  const infos: Buffer[] = [];
  const data: Buffer[] = [];
  let offset = 0;
  for (const { name, shape, values } of tensors) {
    infos.push(string(name), uint32(shape.length), ...shape.map(uint64), uint32(0), uint64(offset));
    const bytes = padded(Buffer.from(values.buffer, values.byteOffset, values.byteLength));
    data.push(bytes);
    offset += bytes.length;
  }
  return Buffer.concat([padded(Buffer.concat([...head, ...keys, ...infos])), ...data]);
}

function encoded(entry: GgufValue): Buffer {
  switch (entry.type) {
    case 'text':
      return Buffer.concat([uint32(codes.string), string(entry.value)]);
    case 'whole':
      return Buffer.concat([uint32(codes.uint32), uint32(entry.value)]);
    case 'float':
      return Buffer.concat([uint32(codes.float32), float32(entry.value)]);
    case 'texts':
      return array(codes.string, entry.value.map(string));
    case 'wholes':
      return array(codes.int32, entry.value.map(uint32));
    case 'floats':
      return array(codes.float32, entry.value.map(float32));
  }
}

function array(code: number, items: readonly Buffer[]): Buffer {
  return Buffer.concat([uint32(codes.array), uint32(code), uint64(items.length), ...items]);
}

function string(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([uint64(bytes.length), bytes]);
}

function uint32(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeUInt32LE(value);
  return buffer;
}

function uint64(value: number): Buffer {
  const buffer = Buffer.alloc(8);
  buffer.writeBigUInt64LE(BigInt(value));
  return buffer;
}

function float32(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeFloatLE(value);
  return buffer;
}

function padded(buffer: Buffer): Buffer {
  const missing = (alignment - (buffer.length % alignment)) % alignment;
  return Buffer.concat([buffer, Buffer.alloc(missing)]);
}
