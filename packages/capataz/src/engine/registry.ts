import type { Blueprint } from '../core/blueprint.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { BlueprintsPort } from './ports.ts';

/** The blueprints that this instance holds, by name and version. */
export class Registry implements BlueprintsPort {
  readonly #versions = new Map<string, Map<number, Blueprint>>();

  /** @throws CapatazError BLUEPRINT_INVALID where two blueprints share name and version. */
  constructor(blueprints: readonly Blueprint[]) {
    for (const blueprint of blueprints) {
      const versions = this.#versions.get(blueprint.name) ?? new Map<number, Blueprint>();
      this.#versions.set(blueprint.name, versions);
      if (versions.has(blueprint.version)) {
        throw new CapatazError(
          'BLUEPRINT_INVALID',
          `blueprint "${blueprint.name}" version ${blueprint.version} is registered twice; give one another name or version`,
        );
      }
      versions.set(blueprint.version, blueprint);
    }
  }

  list(): readonly Blueprint[] {
    return [...this.#versions.values()].flatMap((versions) => [...versions.values()]);
  }

  get(name: string, version?: number): Blueprint {
    const versions = this.#versions.get(name);
    const found = this.find(name, version ?? Math.max(...(versions?.keys() ?? [])));
    if (found !== null) return found;
    const known = [...this.#versions.keys()].join(', ') || 'none';
    throw new CapatazError(
      'BLUEPRINT_NOT_FOUND',
      versions === undefined
        ? `there is no blueprint "${name}"; registered: ${known}`
        : `blueprint "${name}" has no version ${version}; registered: ${[...versions.keys()].join(', ')}`,
    );
  }

  find(name: string, version: number): Blueprint | null {
    return this.#versions.get(name)?.get(version) ?? null;
  }
}
