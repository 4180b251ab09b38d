import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Environment } from './environment.ts';
import { nearest, Problems } from './problems.ts';
import {
  type Config,
  environmentName,
  fileKey,
  flagName,
  type Setting,
  type SettingName,
  settingNames,
  settingOf,
} from './settings.ts';
import { codeOf, readToml, type TomlTable } from './toml.ts';
import {
  type Parsed,
  parseFileValue,
  parseSeconds,
  parseText,
  type SettingValue,
} from './values.ts';

export interface ConfigSources {
  /** Text by name, as the command line gave it; the name `config` is the file's. */
  readonly flags: Readonly<Record<string, unknown>>;
  /** Where a flag is not named as its setting: `worker --token` sets `workerToken`. */
  readonly flagNames?: Readonly<Partial<Record<SettingName, string>>>;
  readonly environment: Environment;
  /** Where relative paths of flags and environment start, and where `capataz.toml` is looked for. */
  readonly directory: string;
}

export interface EffectiveConfig {
  readonly values: Config;
  /** Where each value came from, in words: `flag --port`, `environment API_PORT (alias)`, … */
  readonly sources: Readonly<Record<SettingName, string>>;
  /** The file that was read; null if there is none. */
  readonly file: string | null;
  /** Names in the environment that begin with ours and are no settings. */
  readonly unused: readonly string[];
}

/** A raw value with the words for where it came from, and where its relative paths start. */
interface Found {
  readonly source: string;
  readonly base: string;
  readonly parsed: Parsed;
}

const ownPrefix = 'CAPATAZ_';
/** Ours, but no settings. */
const noSettings = ['CAPATAZ_CONFIG', 'CAPATAZ_TEST_RUN'];

/**
 * Flags win over the environment, that over `capataz.toml`, that over the defaults.
 * @throws CapatazError CONFIG_INVALID that lists every problem with file, entry and field.
 */
export function loadConfig(sources: ConfigSources): EffectiveConfig {
  const problems = new Problems();
  const file = findFile(sources, problems);
  const table = file === null ? {} : (readToml(file, problems) ?? {});
  if (file !== null) checkFileKeys(file, table, problems);
  const unused = checkEnvironmentNames(sources.environment, problems);
  const values: Partial<Record<SettingName, SettingValue | null>> = {};
  const origins: Partial<Record<SettingName, string>> = {};
  for (const name of settingNames) {
    const setting = settingOf(name);
    const found =
      findFlag(name, setting, sources) ??
      findInEnvironment(name, setting, sources, problems) ??
      findInFile(name, setting, { file, table, problems });
    origins[name] = found?.source ?? 'default';
    values[name] = found === null ? defaultOf(setting, sources) : accept(setting, found, problems);
  }
  problems.throwIfAny();
  // The loop has filled every name, each by the parser of its type.
  return {
    values: values as Config,
    sources: origins as Record<SettingName, string>,
    file,
    unused,
  };
}

function findFile(
  { flags, environment, directory }: ConfigSources,
  problems: Problems,
): string | null {
  const flag = flags.config;
  const given = typeof flag === 'string' ? flag : environment.CAPATAZ_CONFIG;
  const path = resolve(directory, given ?? 'capataz.toml');
  if (existsSync(path)) return path;
  if (given !== undefined) {
    problems.add(
      flag === given ? 'flag --config' : 'environment CAPATAZ_CONFIG',
      `${path} does not exist`,
    );
  }
  return null;
}

function findFlag(
  name: SettingName,
  setting: Setting,
  { flags, flagNames, directory }: ConfigSources,
): Found | null {
  const text = flags[name];
  if (typeof text !== 'string') return null;
  const flag = flagNames?.[name] ?? flagName(name);
  return { source: `flag ${flag}`, base: directory, parsed: parseText(setting, text) };
}

function findInEnvironment(
  name: SettingName,
  setting: Setting,
  { environment, directory }: ConfigSources,
  problems: Problems,
): Found | null {
  const names = [{ name: environmentName(name) }, ...(setting.aliases ?? [])];
  for (const candidate of names) {
    const alias = candidate.name.startsWith(ownPrefix) ? '' : ' (alias)';
    const text = environment[candidate.name];
    // An empty variable is how shells and compose files write "not set".
    if (text !== undefined && text !== '') {
      const inSeconds = 'unit' in candidate && candidate.unit === 'seconds';
      return {
        source: `environment ${candidate.name}${alias}`,
        base: directory,
        parsed: inSeconds ? parseSeconds(setting, text) : parseText(setting, text),
      };
    }
    const path = setting.secret ? environment[`${candidate.name}_FILE`] : undefined;
    if (path !== undefined && path !== '') {
      const source = `environment ${candidate.name}_FILE${alias}`;
      return readSecret(source, resolve(directory, path), setting, problems);
    }
  }
  return null;
}

function findInFile(
  name: SettingName,
  setting: Setting,
  { file, table, problems }: { file: string | null; table: TomlTable; problems: Problems },
): Found | null {
  if (file === null) return null;
  const key = fileKey(name);
  const base = dirname(file);
  if (Object.hasOwn(table, key)) {
    return { source: `${file}: ${key}`, base, parsed: parseFileValue(setting, table[key]) };
  }
  const path = setting.secret ? table[`${key}_file`] : undefined;
  if (path === undefined) return null;
  const source = `${file}: ${key}_file`;
  if (typeof path === 'string') return readSecret(source, resolve(base, path), setting, problems);
  problems.add(source, 'must be the path of a file');
  return null;
}

function readSecret(
  source: string,
  path: string,
  setting: Setting,
  problems: Problems,
): Found | null {
  try {
    const text = readFileSync(path, 'utf8').trim();
    return { source, base: dirname(path), parsed: parseText(setting, text) };
  } catch (error) {
    problems.add(source, `${path} cannot be read (${codeOf(error)})`);
    return null;
  }
}

function accept(
  setting: Setting,
  { source, base, parsed }: Found,
  problems: Problems,
): SettingValue | null {
  if (!parsed.ok) {
    problems.add(source, setting.secret ? 'must not be empty' : parsed.problem);
    return null;
  }
  if (setting.type !== 'path' && setting.type !== 'folder') return parsed.value;
  const path = resolve(base, String(parsed.value));
  if (setting.type === 'path' && !existsSync(path)) problems.add(source, `${path} does not exist`);
  return path;
}

function defaultOf(setting: Setting, { directory }: ConfigSources): SettingValue | null {
  if (setting.default === null) return null;
  if (setting.type === 'path' || setting.type === 'folder') {
    const path = resolve(directory, String(setting.default));
    return setting.type === 'folder' || existsSync(path) ? path : null;
  }
  const parsed = parseFileValue(setting, setting.default);
  return parsed.ok ? parsed.value : null;
}

function checkFileKeys(file: string, table: TomlTable, problems: Problems): void {
  const known = settingNames.flatMap((name) =>
    settingOf(name).secret ? [fileKey(name), `${fileKey(name)}_file`] : [fileKey(name)],
  );
  for (const key of Object.keys(table)) {
    if (known.includes(key)) continue;
    const meant = nearest(key, known);
    problems.add(
      `${file}: ${key}`,
      `is no setting${meant === null ? '' : `; did you mean ${meant}?`}`,
    );
  }
}

/**
 * A name of ours that is nearly a setting is a slip and stops the start. Others are left alone:
 * applications have settings of their own under our prefix, and so do container platforms.
 */
function checkEnvironmentNames(environment: Environment, problems: Problems): string[] {
  const known = settingNames.flatMap((name) =>
    settingOf(name).secret
      ? [environmentName(name), `${environmentName(name)}_FILE`]
      : [environmentName(name)],
  );
  known.push(...noSettings);
  const unknown = Object.keys(environment).filter(
    (name) => name.startsWith(ownPrefix) && !known.includes(name),
  );
  return unknown.sort().filter((name) => {
    const meant = nearest(name, known);
    if (meant === null) return true;
    problems.add(`environment ${name}`, `is no setting; did you mean ${meant}?`);
    return false;
  });
}
