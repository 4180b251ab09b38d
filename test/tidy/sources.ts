import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { blank } from './blank.ts';

export const repositoryRoot = fileURLToPath(new URL('../..', import.meta.url));
export const packageRoot = 'packages/capataz';
export const packageSources = `${packageRoot}/src`;

export interface ImportStatement {
  readonly specifier: string;
  readonly line: number;
}

export interface SourceFile {
  /** Relative to the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly code: string;
  readonly imports: readonly ImportStatement[];
}

const ignoredFolders = new Set(['node_modules', 'dist', 'coverage']);

/** Paths relative to the repository, sorted; nothing that was installed or built. */
export function listFiles(pattern: string): string[] {
  return globSync(pattern, {
    cwd: repositoryRoot,
    exclude: (name) => ignoredFolders.has(name),
  })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !path.split('/').some((part) => ignoredFolders.has(part)))
    .sort();
}

export function readText(path: string): string {
  return readFileSync(join(repositoryRoot, path), 'utf8');
}

const cache = new Map<string, SourceFile>();

export function readSource(path: string): SourceFile {
  const known = cache.get(path);
  if (known !== undefined) return known;
  const text = readText(path);
  const { code, uncommented } = blank(text);
  const source = { path, text, code, imports: findImports(code, uncommented) };
  cache.set(path, source);
  return source;
}

/** All TypeScript and JavaScript written in this repository. */
export const allSources: readonly SourceFile[] = listFiles(
  '{packages,apps,examples,scripts,test,bench}/**/*.{ts,tsx,mjs}',
).map(readSource);

/** The published library's own files, tests included. */
export const librarySources = allSources.filter(({ path }) =>
  path.startsWith(`${packageSources}/`),
);

/** What only tests use: the programs they start, the data they share. */
export function isFixture(path: string): boolean {
  return /\/fixtures(?:\.ts|\/)/.test(path);
}

export function isTest(path: string): boolean {
  return path.endsWith('.test.ts');
}

export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

/** The repository path an import leads to, or undefined for a package or a module of Node. */
export function resolveImport(from: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(from), specifier);
  return publicEntries.get(specifier);
}

/** 'capataz', 'capataz/worker', … and the source file each stands for. */
export const publicEntries: ReadonlyMap<string, string> = readPublicEntries();

export function sourceExists(path: string): boolean {
  return existsSync(join(repositoryRoot, path));
}

function readPublicEntries(): Map<string, string> {
  const manifest = JSON.parse(readText(`${packageRoot}/package.json`)) as {
    name: string;
    exports: Record<string, { 'capataz-source': string }>;
  };
  return new Map(
    Object.entries(manifest.exports).map(([entry, target]) => [
      posix.join(manifest.name, entry),
      posix.join(packageRoot, target['capataz-source']),
    ]),
  );
}

/** Static, dynamic and type imports, and re-exports. */
function findImports(code: string, uncommented: string): ImportStatement[] {
  const patterns = [
    /\b(?:import|export)\b[^;'"`()]*?\bfrom\s*(['"])/g,
    /\bimport\s*(['"])/g,
    /\bimport\s*\(\s*(['"])/g,
  ];
  const found: ImportStatement[] = [];
  for (const pattern of patterns) {
    for (const match of code.matchAll(pattern)) {
      const start = match.index + match[0].length;
      const end = code.indexOf(match[1] ?? '', start);
      found.push({ specifier: uncommented.slice(start, end), line: lineAt(code, start) });
    }
  }
  return found.sort((a, b) => a.line - b.line);
}
