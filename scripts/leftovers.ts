import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

export interface Leftover {
  readonly pid: number;
  readonly parentPid: number;
  readonly command: string;
}

/** A process that was told to stop may need a moment to be gone; longer than this is a leak. */
const graceMs = 2_000;
const pollMs = 100;

/**
 * Living processes that were started with this entry in their environment. The environment is
 * inherited by every descendant, also by one that left the process group or lost its parent. Only
 * Linux can tell; elsewhere the answer is none.
 */
export async function findLeftovers(environmentEntry: string): Promise<Leftover[]> {
  const deadline = performance.now() + graceMs;
  for (;;) {
    const leftovers = listProcesses(environmentEntry);
    if (leftovers.length === 0 || performance.now() > deadline) return leftovers;
    await delay(pollMs);
  }
}

/**
 * Waits for the moment when the runner has no test file at work any more but can't end, because a
 * process that a test left behind holds the pipe to it open; without this the run would hang for
 * ever. Ends with what was left, or with nothing once the signal is aborted.
 */
export async function findBlockers(
  environmentEntry: string,
  runnerPid: number,
  signal: AbortSignal,
): Promise<Leftover[]> {
  let idleSince: number | undefined;
  while (!signal.aborted) {
    const processes = listProcesses(environmentEntry);
    const left = processes.filter(({ pid }) => pid !== runnerPid);
    const isIdle = left.length > 0 && left.every(({ parentPid }) => parentPid !== runnerPid);
    const now = performance.now();
    idleSince = isIdle ? (idleSince ?? now) : undefined;
    if (idleSince !== undefined && now - idleSince > graceMs) return left;
    // Aborted means ended: the loop sees it.
    await delay(pollMs * 5, undefined, { signal }).catch(() => {});
  }
  return [];
}

/** Ends what a test left behind. */
export function end(leftovers: readonly Leftover[]): void {
  for (const { pid } of leftovers) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended between the search and now, which is what was wanted.
    }
  }
}

function listProcesses(environmentEntry: string): Leftover[] {
  if (!existsSync('/proc/self/environ')) return [];
  const found: Leftover[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    if (!readProcessFile(name, 'environ').split('\0').includes(environmentEntry)) continue;
    found.push({
      pid: Number(name),
      // The field after the name, which is in parentheses and may itself contain anything.
      parentPid: Number(readProcessFile(name, 'stat').match(/.*\) \S (\d+)/s)?.[1]),
      command: readProcessFile(name, 'cmdline').replaceAll('\0', ' ').trim(),
    });
  }
  return found;
}

/** Empty if unreadable: another user's process, or one that has just ended. */
function readProcessFile(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
