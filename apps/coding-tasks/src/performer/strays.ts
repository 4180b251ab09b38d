import { readdirSync, readFileSync } from 'node:fs';

/**
 * Every process that a performer starts carries these in its environment, and so does all that
 * descends from it, also what left the process group or lost its parent. Process ids alone would
 * not do: after a `kill -9` of the service they may belong to somebody else.
 */
export const ownerVariable = 'CAPATAZ_PERFORMER';
const runVariable = 'CAPATAZ_RUN';

/** For the processes of one run. Two services may have the same order, hence the folder. */
export function marksOf(folder: string, runId: string): Readonly<Record<string, string>> {
  return { [ownerVariable]: folder, [runVariable]: `${folder} ${runId}` };
}

/** Kills what a run has left behind. @returns how many */
export function killRun(folder: string, runId: string): number {
  return killStrays(runVariable, `${folder} ${runId}`);
}

/** Kills whatever carries the entry. @returns how many */
export function killStrays(variable: string, value: string): number {
  const killed = new Set<number>();
  // A process may fork between the look and the kill; its child is seen in the next round.
  for (let round = 0; round < 10; round += 1) {
    const pids = findStrays(variable, value);
    if (pids.length === 0) break;
    for (const pid of pids) if (kill(pid)) killed.add(pid);
  }
  return killed.size;
}

/** Living processes with the entry. Only Linux shows environments; elsewhere nothing is found. */
export function findStrays(variable: string, value: string): number[] {
  const entry = `${variable}=${value}`;
  let names: string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return [];
  }
  return names
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => environmentOf(name).includes(entry))
    .map(Number);
}

function environmentOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    // It ended meanwhile, is a zombie, or belongs to another user.
    return [];
  }
}

function kill(pid: number): boolean {
  try {
    process.kill(pid, 'SIGKILL');
    return true;
  } catch {
    return false;
  }
}
