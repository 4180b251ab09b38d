/** The process of a scripted agent: `scripted-program.ts SCRIPT PHASE SESSION`. Acts when it is loaded. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Script, Step } from './script.ts';

const [scriptPath = '', phase = '', session = ''] = process.argv.slice(2);
/** Checked by whoever starts this. */
const script: Script = JSON.parse(readFileSync(scriptPath, 'utf8'));
/** A session's name holds the rounds of correction it has seen: the agent needs no other memory. */
const round = phase === 'correction' ? Number(session.split('-')[1] ?? 0) + 1 : 0;

tell({ session: `scripted-${round}` });
for (const step of stepsOf()) await carryOut(step);

function stepsOf(): readonly Step[] {
  if (phase === 'plan') return script.plan ?? [{ answer: 'Do what was asked.' }];
  if (phase === 'code') return script.code;
  const corrections = script.corrections ?? [];
  return corrections[round - 1] ?? corrections.at(-1) ?? [];
}

async function carryOut(step: Step): Promise<void> {
  if ('say' in step) tell({ status: step.say });
  if ('waitMs' in step) await new Promise((resolve) => setTimeout(resolve, step.waitMs));
  if ('write' in step) {
    mkdirSync(dirname(step.write.path), { recursive: true });
    writeFileSync(step.write.path, step.write.text);
  }
  if ('remove' in step) rmSync(step.remove);
  if ('commit' in step) commit(step.commit);
  if ('answer' in step) tell({ text: step.answer });
  if ('usage' in step) tell({ usage: step.usage });
  if ('fail' in step) {
    tell({ error: step.fail });
    process.exit(1);
  }
  if ('exit' in step) process.exit(step.exit);
  if ('hang' in step) {
    if (step.hang === 'stubborn') process.on('SIGTERM', () => undefined);
    tell({ status: 'hanging' });
    setInterval(() => undefined, 60_000);
    await new Promise(() => undefined);
  }
}

function commit(message: string): void {
  git('add', '--all');
  git('commit', '-q', '-m', message);
}

function git(...args: readonly string[]): void {
  const who = ['-c', 'user.name=Scripted agent', '-c', 'user.email=agent@localhost'];
  const { status, stderr } = spawnSync('git', [...who, ...args], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args[0]}: ${stderr}`);
}

function tell(words: object): void {
  process.stdout.write(`${JSON.stringify(words)}\n`);
}
