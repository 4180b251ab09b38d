import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const passes = `grep -q 'a + b' sum.js || { echo 'not ok 1 - sum(2, 3) is 5'; exit 1; }
echo 'ok 1 - sum(2, 3) is 5'
`;

/** The agent gets it wrong at first, and right once it is told what failed. */
const script = (waitMs: number) => ({
  plan: [
    { say: 'reading the shop' },
    { waitMs },
    { answer: '1. Write sum.js.\n2. Leave the test alone.' },
  ],
  code: [
    { say: 'writing sum.js' },
    { waitMs },
    { write: { path: 'sum.js', text: 'export const sum = (a, b) => a - b;\n' } },
    { usage: { costUsd: 0.02, inputTokens: 900, outputTokens: 60 } },
    { commit: 'Add sum' },
    { answer: 'sum.js is there.' },
  ],
  corrections: [
    [
      { waitMs },
      { write: { path: 'sum.js', text: 'export const sum = (a, b) => a + b;\n' } },
      { usage: { costUsd: 0.01, inputTokens: 700, outputTokens: 30 } },
      { commit: 'Add, not subtract' },
      { answer: 'Corrected.' },
    ],
  ],
});

export interface Shop {
  /** A bare git repository. */
  readonly repository: string;
  readonly script: string;
}

/**
 * A small repository with a test that nothing passes so far, and an agent that plays a script.
 * @param paceMs what each step of the work takes at least
 */
export function openShop(folder: string, paceMs = 0): Shop {
  chmodSync(folder, 0o711);
  const work = join(folder, 'work');
  const repository = join(folder, 'shop.git');
  const scriptPath = join(folder, 'agent.json');
  mkdirSync(work);
  writeFileSync(join(work, 'test.sh'), `sleep ${paceMs / 1_000}\n${passes}`);
  writeFileSync(join(work, 'README.md'), '# Shop\n');
  writeFileSync(scriptPath, JSON.stringify(script(paceMs)));
  const who = ['-c', 'user.name=Ana', '-c', 'user.email=ana@localhost'];
  git(work, 'init', '--quiet', '--initial-branch=main');
  git(work, 'add', '.');
  git(work, ...who, 'commit', '--quiet', '-m', 'A shop that can’t add');
  git(folder, 'clone', '--quiet', '--bare', 'work', 'shop.git');
  return { repository, script: scriptPath };
}

export function git(cwd: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd, encoding: 'utf8' });
}
