import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Edit, Mutant } from './sim/mutant.ts';
import { mutants } from './sim/mutants.ts';

/**
 * `npm run sim:mutants [-- part of a name]`: breaks a copy of the sources in one place after the
 * other and runs the simulator on it. A mutant that survives means that a checker is missing.
 */
const sources = fileURLToPath(new URL('..', import.meta.url));
// Inside the package, so that the copy finds its dependencies.
const place = join(sources, '..', '.mutants');
const atOnce = 2;
const seeds = 400;

const wanted = process.argv[2] ?? '';
const queue = mutants.filter(({ name }) => name.includes(wanted));
const survivors: string[] = [];
for (const { name, edits } of mutants) for (const edit of edits) broken(sources, name, edit);
try {
  await Promise.all(Array.from({ length: atOnce }, (_, lane) => work(lane)));
} finally {
  rmSync(place, { recursive: true, force: true });
}
const caught = mutants.filter(({ name }) => name.includes(wanted)).length - survivors.length;
console.log(`${caught} passed, ${survivors.length} failed`);
process.exitCode = survivors.length === 0 ? 0 : 1;

async function work(lane: number): Promise<void> {
  const copy = join(place, String(lane), 'src');
  for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
    rmSync(copy, { recursive: true, force: true });
    mkdirSync(copy, { recursive: true });
    cpSync(sources, copy, { recursive: true, filter: (path) => !path.endsWith('.test.ts') });
    breakCopy(copy, mutant);
    const verdict = await simulated(copy);
    if (verdict === null) survivors.push(mutant.name);
    console.log(
      verdict === null ? `SURVIVES ${mutant.name}` : `caught   ${mutant.name}: ${verdict}`,
    );
  }
}

function breakCopy(copy: string, { name, edits }: Mutant): void {
  for (const edit of edits) writeFileSync(join(copy, edit.file), broken(copy, name, edit));
}

/** @throws Error where the place to break has moved: then the mutant must be brought up to date. */
function broken(root: string, name: string, { file, find, replace }: Edit): string {
  const parts = readFileSync(join(root, file), 'utf8').split(find);
  if (parts.length === 2) return parts.join(replace);
  throw new Error(
    `mutant "${name}": ${file} has ${parts.length - 1} places like ${JSON.stringify(find)}, not one`,
  );
}

/** @returns the first rule that was broken, or null. */
async function simulated(copy: string): Promise<string | null> {
  const command = join(copy, 'testing', 'sim-command.ts');
  const child = spawn(
    process.execPath,
    ['--conditions=capataz-source', command, '--seeds', String(seeds), '--until-failure'],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code === 0) return null;
  const rule = errors.split('\n').find((line) => line.startsWith('  '));
  if (rule === undefined) throw new Error(`a mutant does not run:\n${errors}`);
  return rule.trim();
}
