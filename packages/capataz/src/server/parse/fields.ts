import { CapatazError } from '../../protocol/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../std/json.ts';

export interface Problem {
  /** Where in the request: `error.code`, `results[3].task_id`. */
  readonly path: string;
  readonly message: string;
}

/** All problems at once, each with its path. */
export function validationFailed(problems: readonly Problem[]): CapatazError {
  const sentences = problems.map(({ path, message }) =>
    path === '' ? message : `${path} ${message}`,
  );
  return new CapatazError('VALIDATION_FAILED', sentences.join('; '), {
    problems: problems.map(({ path, message }) => ({ path, message })),
  });
}

interface Range {
  readonly min?: number;
  readonly max?: number;
}

/**
 * Reads the members of an object from outside and notes what is wrong with each, so that a refusal
 * names everything at once. Null counts as absent, as on RXON's wire; unknown members are passed
 * over, so that newer workers may say more. Written by hand, since these run for every result.
 */
export class Fields {
  readonly #object: JsonObject;
  readonly #path: string;
  readonly #problems: Problem[];

  constructor(object: JsonObject, path: string, problems: Problem[]) {
    this.#object = object;
    this.#path = path;
    this.#problems = problems;
  }

  /** Reads a whole body. @throws VALIDATION_FAILED with everything that `read` noted. */
  static readAll<T>(body: JsonValue | undefined, read: (fields: Fields) => T): T {
    const problems: Problem[] = [];
    if (!isJsonObject(body)) {
      throw validationFailed([{ path: '', message: 'the body must be a JSON object' }]);
    }
    const value = read(new Fields(body, '', problems));
    if (problems.length > 0) throw validationFailed(problems);
    return value;
  }

  at(name: string): string {
    return this.#path === '' ? name : `${this.#path}.${name}`;
  }

  refuse(name: string, message: string): void {
    this.#problems.push({ path: this.at(name), message });
  }

  /** Any JSON but null. */
  value(name: string): JsonValue | undefined {
    return Object.hasOwn(this.#object, name) ? (this.#object[name] ?? undefined) : undefined;
  }

  string(name: string, maxLength = 10_000): string | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (typeof value !== 'string') {
      this.refuse(name, 'must be a string');
      return undefined;
    }
    if (value.length > maxLength) this.refuse(name, `must have at most ${maxLength} characters`);
    return value;
  }

  requiredString(name: string, maxLength = 200): string {
    const value = this.string(name, maxLength);
    if (value === undefined && this.value(name) === undefined) this.refuse(name, 'is required');
    if (value === '') this.refuse(name, 'must not be empty');
    return value ?? '';
  }

  oneOf<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    const found = choices.find((choice) => choice === value);
    if (found === undefined) this.refuse(name, `must be one of ${choices.join(', ')}`);
    return found;
  }

  number(name: string, range: Range = {}): number | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (typeof value !== 'number') {
      this.refuse(name, 'must be a number');
      return undefined;
    }
    const problem = rangeProblem(value, range);
    if (problem !== null) this.refuse(name, problem);
    return value;
  }

  integer(name: string, range: Range = {}): number | undefined {
    const value = this.number(name, range);
    if (value !== undefined && !Number.isInteger(value)) this.refuse(name, 'must be whole');
    return value;
  }

  boolean(name: string): boolean | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === 'boolean') return value;
    this.refuse(name, 'must be true or false');
    return undefined;
  }

  object(name: string): JsonObject | undefined {
    const value = this.value(name);
    if (value === undefined || isJsonObject(value)) return value;
    this.refuse(name, 'must be an object');
    return undefined;
  }

  /** A reader of the object's members; of none when it is absent. */
  fields(name: string): Fields {
    return new Fields(this.object(name) ?? {}, this.at(name), this.#problems);
  }

  array(name: string, maxLength = 10_000): readonly JsonValue[] | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) {
      this.refuse(name, 'must be an array');
      return undefined;
    }
    if (value.length > maxLength) this.refuse(name, `must have at most ${maxLength} members`);
    return value;
  }

  strings(name: string): string[] | undefined {
    return this.array(name)?.map((value, index) => {
      if (typeof value === 'string') return value;
      this.refuse(`${name}[${index}]`, 'must be a string');
      return '';
    });
  }

  /** Reads each member of an array of objects. */
  objects<T>(name: string, read: (fields: Fields) => T, maxLength?: number): T[] | undefined {
    return this.array(name, maxLength)?.map((value, index) => {
      const path = `${name}[${index}]`;
      if (!isJsonObject(value)) this.refuse(path, 'must be an object');
      return read(new Fields(isJsonObject(value) ? value : {}, this.at(path), this.#problems));
    });
  }
}

function rangeProblem(value: number, { min, max }: Range): string | null {
  if (min !== undefined && value < min) return `must be at least ${min}`;
  if (max !== undefined && value > max) return `must be at most ${max}`;
  return null;
}
