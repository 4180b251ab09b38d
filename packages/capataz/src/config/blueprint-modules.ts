import { existsSync, readdirSync } from 'node:fs';
import { extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Blueprint } from '../core/blueprint.ts';
import { CapatazError } from '../protocol/errors.ts';
import { moduleProblem } from './module-errors.ts';

const moduleEndings = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs'];

/** The modules directly in a folder, sorted: neither tests nor type declarations. */
export function moduleNames(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && isModule(entry.name))
    .map((entry) => entry.name)
    .sort();
}

/**
 * The blueprints of a folder: every module directly in it has a default export that is a blueprint
 * or a list of them. Tests and type declarations are passed over; subfolders are for helpers.
 * @throws CapatazError BLUEPRINT_INVALID naming every bad module.
 */
export async function loadBlueprints(folder: string): Promise<Blueprint[]> {
  const problems: string[] = [];
  const blueprints: Blueprint[] = [];
  for (const name of moduleNames(folder)) {
    try {
      blueprints.push(...(await loadBlueprintModule(join(folder, name))));
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  if (problems.length > 0) {
    throw new CapatazError('BLUEPRINT_INVALID', problems.join('\n'), { folder, problems });
  }
  return blueprints;
}

/** @throws CapatazError BLUEPRINT_INVALID naming the module. */
export async function loadBlueprintModule(path: string): Promise<Blueprint[]> {
  if (!existsSync(path)) throw bad(path, `there is no file ${path}`);
  let exported: unknown;
  try {
    const module: { readonly default?: unknown } = await import(pathToFileURL(path).href);
    exported = module.default;
  } catch (error) {
    throw bad(path, moduleProblem(path, error), error);
  }
  const list: readonly unknown[] = Array.isArray(exported) ? exported : [exported];
  const blueprints = list.filter(isBlueprint);
  if (blueprints.length === list.length) return blueprints;
  const reason =
    exported === undefined
      ? 'has no default export; end it with `export default blueprint({ … })`'
      : 'its default export is neither a blueprint nor a list of blueprints';
  throw bad(path, `${path}: ${reason}`);
}

/** By its shape: a module may have been made with another copy of this package. */
function isBlueprint(value: unknown): value is Blueprint {
  return (
    typeof value === 'object' &&
    value !== null &&
    'name' in value &&
    typeof value.name === 'string' &&
    'graph' in value &&
    typeof value.graph === 'string' &&
    'states' in value &&
    value.states instanceof Map
  );
}

function isModule(name: string): boolean {
  return moduleEndings.includes(extname(name)) && !/\.(?:test|d)\.[a-z]+$/.test(name);
}

function bad(path: string, message: string, cause?: unknown): CapatazError {
  return new CapatazError('BLUEPRINT_INVALID', message, { module: path }, cause);
}
