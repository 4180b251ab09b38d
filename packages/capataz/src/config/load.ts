import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { nearest } from '../std/nearest.ts';
import type { Environment } from './environment.ts';
import { type Problem, Problems } from './problems.ts';
import {
  environmentName,
  fileKey,
  flagName,
  ownPrefix,
  type Setting,
  type SettingDeclarations,
  type SettingValue,
} from './setting.ts';
import { readTables } from './setting-tables.ts';
import { type Config, type SettingName, settings } from './settings.ts';
import { codeOf, readToml, type TomlTable } from './toml.ts';
import { type Parsed, parseFileValue, parseSeconds, parseText } from './values.ts';

export interface ConfigSources {
  /** Text by name, as the command line gave it; the name `config` is the file's. */
  readonly flags: Readonly<Record<string, unknown>>;
  /** Where a flag is not named as its setting: `worker --token` sets `workerToken`. */
  readonly flagNames?: Readonly<Partial<Record<string, string>>>;
  readonly environment: Environment;
  /** Where relative paths of flags and environment start, and where `capataz.toml` is looked for. */
  readonly directory: string;
  /** A value in the environment for any other setting stops nothing. Default: every setting. */
  readonly uses?: readonly string[];
  /** Names in the environment that begin with the prefix and are somebody else's. */
  readonly foreign?: readonly string[];
}

/** Settings that are read together: ours, or those of an application. */
export interface SettingTable {
  readonly settings: SettingDeclarations;
  /** Of their names in the environment: `CAPATAZ_`. */
  readonly prefix: string;
  /** Looked for in the directory, unless the flag `--config` or `<prefix>CONFIG` names another. */
  readonly fileName: string;
  /** The flag `--config` names the file. */
  readonly hasConfigFlag: boolean;
}

export interface EffectiveSettings<Values> {
  readonly values: Values;
  /** Where each value came from, in words: `flag --port`, `environment API_PORT (alias)`, … */
  readonly sources: Readonly<Record<keyof Values & string, string>>;
  /** The file that was read; null if there is none. */
  readonly file: string | null;
  /** Names in the environment that begin with ours and are no settings. */
  readonly unused: readonly string[];
  /** What the environment says of settings in use and is passed over, in sentences. */
  readonly warnings: readonly string[];
  /** What is wrong in the environment with settings that are not in use. */
  readonly faults: readonly Fault[];
}

export type EffectiveConfig = EffectiveSettings<Config>;

export interface Fault extends Problem {
  readonly name: string;
}

/** A raw value with the words for where it came from, and where its relative paths start. */
interface Found {
  readonly source: string;
  readonly base: string;
  readonly parsed: Parsed;
}

interface FoundInEnvironment extends Found {
  /** Others than we may have set it, for something else. */
  readonly isForeign: boolean;
}

interface Notes {
  readonly uses: ReadonlySet<string>;
  readonly warnings: string[];
  readonly faults: Fault[];
}

/** What has a prefix and is no setting: switches of our own tests, and where the file lies. */
const noSettings = ['CONFIG', 'TEST_RUN', 'TEST_CLOCK'];

const ownTable: SettingTable = {
  settings,
  prefix: ownPrefix,
  fileName: 'capataz.toml',
  hasConfigFlag: true,
};

/** Our own settings. @throws CapatazError CONFIG_INVALID */
export function loadConfig(sources: ConfigSources): EffectiveConfig {
  return loadSettings<Config>(sources, ownTable);
}

/**
 * Flags win over the environment, that over the file, that over the defaults.
 * @throws CapatazError CONFIG_INVALID that lists every problem with file, entry and field.
 */
export function loadSettings<Values>(
  sources: ConfigSources,
  table: SettingTable,
): EffectiveSettings<Values> {
  const problems = new Problems();
  const file = findFile(sources, table, problems);
  const content = file === null ? {} : (readToml(file, problems) ?? {});
  if (file !== null) checkFileKeys(file, content, table, problems);
  const unused = checkEnvironmentNames(sources, table, problems);
  const names = Object.keys(table.settings);
  const notes: Notes = { uses: new Set(sources.uses ?? names), warnings: [], faults: [] };
  const values: Record<string, SettingValue | null> = {};
  const origins: Record<string, string> = {};
  for (const [name, setting] of Object.entries(table.settings)) {
    const found =
      findFlag(name, setting, sources) ??
      findInEnvironment({ name, setting, prefix: table.prefix }, sources, notes) ??
      findInFile(name, setting, { file, table: content, problems });
    origins[name] = found?.source ?? 'default';
    values[name] = found === null ? defaultOf(setting, sources) : accept(setting, found, problems);
  }
  problems.throwIfAny();
  // The loop has filled every name, each by the parser of its type.
  return {
    values: values as Values,
    sources: origins as Record<keyof Values & string, string>,
    file,
    unused,
    warnings: notes.warnings,
    faults: notes.faults,
  };
}

/** What holds where nothing was given: neither flags nor environment nor file. */
export function defaultSettings<Values>(
  { settings }: Pick<SettingTable, 'settings'>,
  directory: string,
): Values {
  const none = { flags: {}, environment: {}, directory };
  const values = Object.entries(settings).map(([name, setting]) => [
    name,
    defaultOf(setting, none),
  ]);
  // Every name, each by the parser of its type.
  return Object.fromEntries(values) as Values;
}

/**
 * For a command that turns out to use more than it said.
 * @throws CapatazError CONFIG_INVALID when the environment is wrong about one of these settings.
 */
export function requireSettings({ faults }: EffectiveConfig, names: readonly SettingName[]): void {
  const wanted: readonly string[] = names;
  const problems = new Problems();
  for (const { name, where, message } of faults) {
    if (wanted.includes(name)) problems.add(where, message);
  }
  problems.throwIfAny();
}

function findFile(
  { flags, environment, directory }: ConfigSources,
  { prefix, fileName, hasConfigFlag }: SettingTable,
  problems: Problems,
): string | null {
  const flag = hasConfigFlag ? flags.config : undefined;
  const given = typeof flag === 'string' ? flag : environment[`${prefix}CONFIG`];
  const path = resolve(directory, given ?? fileName);
  if (existsSync(path)) return path;
  if (given !== undefined) {
    problems.add(
      flag === given ? 'flag --config' : `environment ${prefix}CONFIG`,
      `${path} does not exist`,
    );
  }
  return null;
}

function findFlag(
  name: string,
  setting: Setting,
  { flags, flagNames, directory }: ConfigSources,
): Found | null {
  const text = flags[name];
  if (typeof text !== 'string') return null;
  const flag = flagNames?.[name] ?? flagName(name);
  return { source: `flag ${flag}`, base: directory, parsed: parseText(setting, text) };
}

interface Named {
  readonly name: string;
  readonly setting: Setting;
  readonly prefix: string;
}

function findInEnvironment(
  named: Named,
  sources: ConfigSources,
  { uses, warnings, faults }: Notes,
): Found | null {
  const { name, setting } = named;
  for (const found of givenInEnvironment(named, sources)) {
    const problem = problemOf(setting, found);
    if (problem === null) return found;
    const where = found.source;
    if (!uses.has(name)) faults.push({ name, where, message: problem });
    else if (found.isForeign) warnings.push(`${where}: ${problem}; it is not used`);
    else return found;
  }
  return null;
}

function* givenInEnvironment(
  { name, setting, prefix }: Named,
  { environment, directory }: ConfigSources,
): Generator<FoundInEnvironment> {
  const names = [{ name: environmentName(name, prefix) }, ...(setting.aliases ?? [])];
  for (const candidate of names) {
    const alias = candidate.name.startsWith(prefix) ? '' : ' (alias)';
    const text = environment[candidate.name];
    // An empty variable is how shells and compose files write "not set".
    if (text !== undefined && text !== '') {
      const inSeconds = 'unit' in candidate && candidate.unit === 'seconds';
      yield {
        source: `environment ${candidate.name}${alias}`,
        base: directory,
        parsed: inSeconds ? parseSeconds(setting, text) : parseText(setting, text),
        isForeign: (alias !== '' && isHarmless(setting)) || isServiceLink(setting, text),
      };
    }
    const path = setting.secret ? environment[`${candidate.name}_FILE`] : undefined;
    if (path !== undefined && path !== '') {
      const source = `environment ${candidate.name}_FILE${alias}`;
      yield { ...readSecret(source, resolve(directory, path), setting), isForeign: false };
    }
  }
}

/** Names like LOG_LEVEL are everybody's. But who comes in and where work goes is never guessed. */
function isHarmless({ type, secret }: Setting): boolean {
  return !secret && type !== 'path' && type !== 'url';
}

/** Kubernetes sets CAPATAZ_PORT=tcp://… in every pod beside a service that is named capataz. */
function isServiceLink({ type }: Setting, text: string): boolean {
  return type === 'port' && /^(?:tcp|udp|sctp):\/\//.test(text);
}

function findInFile(
  name: string,
  setting: Setting,
  { file, table, problems }: { file: string | null; table: TomlTable; problems: Problems },
): Found | null {
  if (file === null) return null;
  const key = fileKey(name);
  const base = dirname(file);
  if (Object.hasOwn(table, key) && setting.type === 'tables') {
    const value = readTables(setting, table[key], { file, key, base, problems });
    return { source: `${file}: [[${key}]]`, base, parsed: { ok: true, value } };
  }
  if (Object.hasOwn(table, key)) {
    return { source: `${file}: ${key}`, base, parsed: parseFileValue(setting, table[key]) };
  }
  const path = setting.secret ? table[`${key}_file`] : undefined;
  if (path === undefined) return null;
  const source = `${file}: ${key}_file`;
  if (typeof path === 'string') return readSecret(source, resolve(base, path), setting);
  problems.add(source, 'must be the path of a file');
  return null;
}

function readSecret(source: string, path: string, setting: Setting): Found {
  const base = dirname(path);
  try {
    return { source, base, parsed: parseText(setting, readFileSync(path, 'utf8').trim()) };
  } catch (error) {
    const problem = `${path} cannot be read (${codeOf(error)})`;
    return { source, base, parsed: { ok: false, problem } };
  }
}

function accept(setting: Setting, found: Found, problems: Problems): SettingValue | null {
  const problem = problemOf(setting, found);
  if (problem !== null) problems.add(found.source, problem);
  return settingValueOf(setting, found);
}

/** Of a secret nothing can be wrong but that it is empty or not readable: its text is never told. */
function problemOf(setting: Setting, found: Found): string | null {
  if (!found.parsed.ok) return found.parsed.problem;
  const path = setting.type === 'path' ? String(settingValueOf(setting, found)) : null;
  return path === null || existsSync(path) ? null : `${path} does not exist`;
}

function settingValueOf({ type }: Setting, { base, parsed }: Found): SettingValue | null {
  if (!parsed.ok) return null;
  const isPath = type === 'path' || type === 'folder';
  return isPath ? resolve(base, String(parsed.value)) : parsed.value;
}

function defaultOf(setting: Setting, { directory }: ConfigSources): SettingValue | null {
  if (setting.type === 'tables') return [];
  if (setting.default === null) return null;
  if (setting.type === 'path' || setting.type === 'folder') {
    const path = resolve(directory, String(setting.default));
    return setting.type === 'folder' || existsSync(path) ? path : null;
  }
  const parsed = parseFileValue(setting, setting.default);
  return parsed.ok ? parsed.value : null;
}

function checkFileKeys(
  file: string,
  content: TomlTable,
  { settings }: SettingTable,
  problems: Problems,
): void {
  const known = Object.entries(settings).flatMap(([name, { secret }]) =>
    secret ? [fileKey(name), `${fileKey(name)}_file`] : [fileKey(name)],
  );
  for (const key of Object.keys(content)) {
    if (known.includes(key)) continue;
    problems.add(`${file}: ${key}`, strayKeyText(key, known));
  }
}

function strayKeyText(key: string, known: readonly string[]): string {
  // An application's file lies beside ours, and people take the one for the other.
  const isOurs = Object.keys(ownTable.settings).some((name) => fileKey(name) === key);
  if (isOurs) return `is a setting of ${ownTable.fileName}`;
  const meant = nearest(key, known);
  return `is no setting${meant === null ? '' : `; did you mean ${meant}?`}`;
}

/** Every name in the environment from which a setting of this table is read. */
export function environmentNames({ settings, prefix }: SettingTable): string[] {
  return Object.entries(settings).flatMap(([name, { secret }]) => {
    const own = environmentName(name, prefix);
    return secret ? [own, `${own}_FILE`] : [own];
  });
}

/**
 * A name of ours that is nearly a setting is a slip and stops the start. Others are left alone:
 * applications have settings of their own under our prefix, and so do container platforms.
 */
function checkEnvironmentNames(
  { environment, foreign = [] }: ConfigSources,
  table: SettingTable,
  problems: Problems,
): string[] {
  const { prefix } = table;
  const known = [...environmentNames(table), ...noSettings.map((name) => `${prefix}${name}`)];
  const unknown = Object.keys(environment).filter(
    (name) => name.startsWith(prefix) && !known.includes(name) && !foreign.includes(name),
  );
  return unknown.sort().filter((name) => {
    const meant = nearest(name, known);
    if (meant === null) return true;
    problems.add(`environment ${name}`, `is no setting; did you mean ${meant}?`);
    return false;
  });
}
