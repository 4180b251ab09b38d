import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { brotliCompress, gzip, zstdCompress } from 'node:zlib';
import { result, type WorkerTask } from 'capataz/worker';

const archivers = {
  brotli: promisify(brotliCompress),
  gzip: promisify(gzip),
  zstd: promisify(zstdCompress),
};

/** Run with `capataz worker examples/digest/worker.ts`. */
export const skills = {
  /** Size, lines, words and SHA-256, or the reason why there are none. */
  measure: async (task: WorkerTask) => {
    const content = await read(task);
    if ('problem' in content) return result('unreadable', content);
    const { bytes } = content;
    if (bytes.length === 0) return result('empty', { size: 0 });
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    if (isBinary(bytes)) return result('binary', { size: bytes.length, sha256 });
    const text = bytes.toString('utf8');
    return {
      size: bytes.length,
      lines: text.split('\n').length - (text.endsWith('\n') ? 1 : 0),
      words: text.split(/\s+/).filter((word) => word !== '').length,
      sha256,
    };
  },
  compress: async (task: WorkerTask) => {
    const content = await read(task);
    if ('problem' in content) return result('unreadable', content);
    const archive = archivers[task.params.format as keyof typeof archivers];
    return { compressed: (await archive(content.bytes)).length };
  },
};

/** A file that can't be read is a finding for the report, not an error to be tried again. */
async function read({
  params,
  signal,
}: WorkerTask): Promise<{ bytes: Buffer } | { problem: string }> {
  await pause(Number(params.pace_ms), signal);
  try {
    const file = String(params.file);
    // A pipe or a device would be read for ever.
    if (!(await stat(file)).isFile()) return { problem: 'not a regular file' };
    return { bytes: await readFile(file) };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

/** Git's rule: a NUL among the first 8,000 bytes makes it binary. */
function isBinary(bytes: Buffer): boolean {
  return bytes.subarray(0, 8_000).includes(0);
}

/** Stretches the demo, so that there is time to kill something in the middle of it. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await setTimeout(ms, undefined, { signal });
}
