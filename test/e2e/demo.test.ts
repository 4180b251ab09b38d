import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const demo = fileURLToPath(new URL('../../examples/digest/demo.ts', import.meta.url));

interface Running {
  readonly child: ChildProcess;
  readonly lines: string[];
  /** Resolves with the first line that matches. */
  readonly line: (pattern: RegExp) => Promise<RegExpExecArray>;
  /** Resolves with the exit code. */
  readonly end: () => Promise<number | null>;
}

function startDemo(...args: string[]): Running {
  const child = spawn(process.execPath, ['--conditions=capataz-source', demo, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const exit = once(child, 'close');
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line);
      for (const look of waiting) look();
    });
  }
  const line = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = lines.map((text) => pattern.exec(text)).find((found) => found !== null);
        if (match === undefined || match === null) return;
        waiting.delete(look);
        resolve(match);
      };
      waiting.add(look);
      child.once('close', () => reject(new Error(`no line ${pattern} in:\n${lines.join('\n')}`)));
      look();
    });
  return { child, lines, line, end: async () => ((await exit) as [number | null])[0] };
}

async function reportOf(run: Running): Promise<string> {
  const [, path = ''] = await run.line(/^report +(.+)$/);
  return readFile(path, 'utf8');
}

describe('the digest demo', () => {
  let folder = '';
  let undisturbed = '';

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'capataz-e2e-files-'));
    await mkdir(join(folder, 'deep', 'er'), { recursive: true });
    for (let index = 0; index < 30; index += 1) {
      await writeFile(join(folder, 'deep', `file-${index}.txt`), `line\n`.repeat(index + 1));
    }
    await writeFile(join(folder, 'empty.txt'), '');
    await writeFile(join(folder, 'binary.bin'), Buffer.from([1, 0, 2]));
    await symlink('nowhere', join(folder, 'deep', 'er', 'dangling'));
  });

  after(() => rm(folder, { recursive: true, force: true }));

  it('reads every file once and reports what has no content', async () => {
    const run = startDemo(folder);
    undisturbed = await reportOf(run);
    assert.equal(await run.end(), 0);
    assert.match(undisturbed, /33 files \(1 binary, 1 empty, 30 text, 1 unreadable\)/);
    assert.match(undisturbed, /deep\/er\/dangling: unreadable \(ENOENT/);
    assert.match(undisturbed, /file-29\.txt +\| text +\| 150 +\| 30 +\| 30 /);
  });

  it('B-011 finishes with the same report when the server is killed in the middle', async () => {
    const run = startDemo(folder, '--pace', '400ms');
    const [, pid] = await run.line(/^server .*\(pid (\d+),/);
    await run.line(/^[1-9]\d* of 33 files/);
    process.kill(Number(pid), 'SIGKILL');
    await run.line(/the server died/);
    assert.equal(await reportOf(run), undisturbed);
    assert.equal(await run.end(), 0);
  });

  it('gives the tasks of a killed worker to the others, and the report is the same', async () => {
    const run = startDemo(folder, '--pace', '400ms');
    const [, pid] = await run.line(/^worker +digest-2 +\(pid (\d+)\)/);
    await run.line(/^[1-9]\d* of 33 files/);
    process.kill(Number(pid), 'SIGKILL');
    assert.equal(await reportOf(run), undisturbed);
    assert.equal(await run.end(), 0);
  });
});
