import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { globPattern } from '../std/glob.ts';
import type { JsonObject } from '../std/json.ts';
import { Problems } from './problems.ts';
import { codeOf } from './toml.ts';
import { TomlEntry, tomlEntries } from './toml-entry.ts';

/** An entry of `clients.toml`. */
export interface ClientEntry {
  readonly name: string;
  readonly token: string;
  readonly plan?: string;
  readonly params?: JsonObject;
}

/** An entry of `workers.toml`: one worker, or all whose id matches a glob. */
export type WorkerEntry =
  | { readonly id: string; readonly token: string }
  | { readonly pattern: string; readonly token: string };

/** Keys that the orchestrator seed's files have and that nothing obeys yet. */
const unsupported: Readonly<Record<string, string>> = {
  monthly_attempts: 'quotas are not enforced by this version; take it out',
};

const patternPrefix = 'pattern:';

/**
 * `[name]` with `token` (or `token_file`), `plan` and `params`.
 * @throws CapatazError CONFIG_INVALID that lists every problem with file, entry and field.
 */
export function readClients(file: string): ClientEntry[] {
  const problems = new Problems();
  const clients: ClientEntry[] = [];
  for (const entry of entriesOf(file, problems)) {
    entry.checkKeys(['token', 'token_file', 'plan', 'params'], unsupported);
    if (!/^[A-Za-z0-9_.-]{1,100}$/.test(entry.name)) {
      entry.problem(null, 'the name must be 1 to 100 letters, digits, "_", "-" or "."');
    }
    const plan = entry.string('plan');
    const params = entry.object('params');
    clients.push({
      name: entry.name,
      token: entry.token(),
      ...(plan === undefined ? {} : { plan }),
      ...(params === undefined ? {} : { params }),
    });
  }
  checkDistinct(file, clients, problems);
  problems.throwIfAny();
  return clients;
}

/**
 * `[worker_id]` or `["pattern:gpu-*"]` with `token` (or `token_file`) and `description`.
 * @throws CapatazError CONFIG_INVALID that lists every problem with file, entry and field.
 */
export function readWorkers(file: string): WorkerEntry[] {
  const problems = new Problems();
  const workers: WorkerEntry[] = [];
  for (const entry of entriesOf(file, problems)) {
    entry.checkKeys(['token', 'token_file', 'description'], unsupported);
    entry.string('description');
    const isPattern = entry.name.startsWith(patternPrefix);
    const id = isPattern ? entry.name.slice(patternPrefix.length) : entry.name;
    if (!(isPattern ? /^[a-zA-Z0-9_*?[\]!-]+$/ : /^[a-zA-Z0-9_-]+$/).test(id)) {
      entry.problem(null, 'a worker id is made of letters, digits, "_" and "-"');
    } else if (isPattern && !isGlob(id)) {
      entry.problem(
        null,
        `the pattern "${id}" has a range that goes backwards or a bracket too many`,
      );
    }
    const token = entry.token();
    workers.push(isPattern ? { pattern: id, token } : { id, token });
  }
  problems.throwIfAny();
  return workers;
}

function isGlob(pattern: string): boolean {
  try {
    globPattern(pattern);
    return true;
  } catch {
    return false;
  }
}

function entriesOf(file: string, problems: Problems): Entry[] {
  return tomlEntries(file, problems).map((source) => new Entry(source));
}

function checkDistinct(file: string, clients: readonly ClientEntry[], problems: Problems): void {
  const holders = new Map<string, string>();
  for (const { name, token } of clients) {
    const holder = holders.get(token);
    if (token !== '' && holder !== undefined) {
      problems.add(`${file}: [${name}] token`, `is the same as that of [${holder}]`);
    }
    holders.set(token, name);
  }
}

/** One that has a token. */
class Entry extends TomlEntry {
  /** @returns an empty text, and notes the problem, where there is none. */
  token(): string {
    const { token, token_file: path } = this.table;
    if (token !== undefined && path !== undefined) {
      this.problem('token_file', 'stands beside token; keep one of them');
    }
    if (typeof token === 'string' && token !== '') return this.#sendable('token', token);
    if (token === undefined && typeof path === 'string') return this.#tokenOf(path);
    this.problem(
      'token',
      token === undefined ? 'is missing' : 'must be a string that is not empty',
    );
    return '';
  }

  /** What no header carries unchanged would never match. */
  #sendable(field: string, token: string): string {
    if (!/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(token)) {
      this.problem(field, 'must be printable ASCII without blanks at its ends');
    }
    return token;
  }

  #tokenOf(path: string): string {
    const absolute = resolve(dirname(this.file), path);
    try {
      const token = readFileSync(absolute, 'utf8').trim();
      if (token === '') this.problem('token_file', `${absolute} is empty`);
      return token === '' ? '' : this.#sendable('token_file', token);
    } catch (error) {
      this.problem('token_file', `${absolute} cannot be read (${codeOf(error)})`);
      return '';
    }
  }
}
