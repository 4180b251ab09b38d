import { copyFileSync, existsSync, globSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { repositoryRoot, runSteps, typescript } from './steps.ts';

const packageRoot = join(repositoryRoot, 'packages/capataz');

// A stale file in dist would be published, so every build starts from nothing.
rmSync(join(packageRoot, 'dist'), { recursive: true, force: true });

const passed = runSteps([
  {
    name: 'compile packages/capataz',
    nodeArgs: [typescript, '--project', 'packages/capataz/tsconfig.build.json'],
  },
]);

if (passed) {
  copySqlFiles();
  copyRootDocument('LICENSE');
  copyRootDocument('README.md');
}

process.exitCode = passed ? 0 : 1;

/** SQL files are read at run time by their address relative to the module, so they move along with it. */
function copySqlFiles(): void {
  const source = join(packageRoot, 'src');
  for (const path of globSync('**/*.sql', { cwd: source })) {
    const target = join(packageRoot, 'dist', path);
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(join(source, path), target);
  }
}

function copyRootDocument(name: string): void {
  const source = join(repositoryRoot, name);
  if (existsSync(source)) copyFileSync(source, join(packageRoot, name));
}
