import { CapatazError } from 'capataz';
import { type ParsedValue, parse } from './parse.ts';
import { type LauncherSettings, variables } from './settings.ts';
import type { Variable, Variables } from './variable.ts';

/** Where values come from. */
export interface SettingSource {
  /** `ConfiguracionSistema`, `environment`, or the path of a file. */
  readonly name: string;
  readonly values: Readonly<Record<string, string | undefined>>;
  /** Values that others can read and change are no place for secrets: they are not read from there. */
  readonly isDatabase?: true;
  /** What could not be read of it, as sentences. */
  readonly problems?: readonly string[];
}

export interface EffectiveSettings {
  readonly values: LauncherSettings;
  readonly origins: Readonly<Record<keyof LauncherSettings, Origin>>;
  /** Sentences for the log at the start. */
  readonly warnings: readonly string[];
}

export interface Origin {
  /** The name under which it was found; without a source, the seed's. */
  readonly variable: string;
  /** Null: the default. */
  readonly source: string | null;
  /** As it was written. Null: there is none. */
  readonly text: string | null;
}

interface Found {
  readonly variable: string;
  readonly source: SettingSource;
  readonly text: string;
}

/** Right or wrong: where there are problems some values are missing, and nothing starts. */
export interface FoundSettings extends EffectiveSettings {
  /** Each with its source, variable and value. */
  readonly problems: readonly string[];
}

/** The table of the seed whose rows go before environment and file. */
export const databaseSourceName = 'ConfiguracionSistema';

/** Rows of `ConfiguracionSistema` as a source. */
export function databaseSource(rows: Readonly<Record<string, string>>): SettingSource {
  return { name: databaseSourceName, values: rows, isDatabase: true };
}

/**
 * The effective value of every variable. Sources go before one another in their order, the seed's
 * name before the others of a variable within a source.
 * @throws CapatazError CONFIG_INVALID with every problem: its source, variable and value
 */
export function mergeSettings(sources: readonly SettingSource[]): EffectiveSettings {
  const { problems, ...effective } = findSettings(sources);
  if (problems.length > 0) throw wrongSettings(problems);
  return effective;
}

export function wrongSettings(problems: readonly string[]): CapatazError {
  return new CapatazError('CONFIG_INVALID', problems.join('\n'), {
    problems: [...problems],
    hint: '`capataz-rpa variables` shows every variable and where it comes from.',
  });
}

/** The same, with the problems told rather than thrown. */
export function findSettings(sources: readonly SettingSource[]): FoundSettings {
  const problems = sources.flatMap((source) => source.problems ?? []);
  const wrong = new Set<Variable>();
  const warnings: string[] = [];
  const values: Record<string, ParsedValue | null> = {};
  const origins: Record<string, Origin> = {};
  for (const [name, variable] of Object.entries<Variable>(variables)) {
    const found = find(variable, sources, warnings);
    const effective = effectiveOf(variable, found);
    values[name] = effective.value;
    if (effective.problem !== null) {
      problems.push(effective.problem);
      wrong.add(variable);
    }
    origins[name] = {
      variable: found?.variable ?? variable.name,
      source: found?.source.name ?? null,
      text: found?.text ?? variable.default,
    };
  }
  problems.push(...contradictions(values as unknown as LauncherSettings, wrong));
  return {
    problems,
    // The loop has filled every name, each by the parser of its type.
    values: values as unknown as LauncherSettings,
    origins: origins as EffectiveSettings['origins'],
    warnings: [...warnings, ...unknownNames(sources)],
  };
}

function find(
  variable: Variable,
  sources: readonly SettingSource[],
  warnings: string[],
): Found | null {
  for (const source of sources) {
    for (const name of [variable.name, ...(variable.otherNames ?? [])]) {
      const text = source.values[name]?.trim();
      if (text === undefined) continue;
      if (source.isDatabase === true && variable.type === 'secret') {
        warnings.push(`${source.name}: ${name} is a secret and is not read from there`);
        continue;
      }
      // Shells and forms write "not set" as an empty text; only here and there it means something.
      if (text !== '' || variable.isCritical === true || variable.emptyIsNone === true)
        return { variable: name, source, text };
    }
  }
  return null;
}

function effectiveOf(
  variable: Variable,
  found: Found | null,
): { readonly value: ParsedValue | null; readonly problem: string | null } {
  const text = found?.text ?? variable.default;
  if (text === null) {
    const problem = variable.isRequired === true ? `${variable.name}: is missing` : null;
    return { value: null, problem };
  }
  if (text === '' && variable.emptyIsNone === true) return { value: null, problem: null };
  const parsed = text === '' ? { ok: false as const, problem: 'is empty' } : parse(variable, text);
  if (parsed.ok) return { value: parsed.value, problem: null };
  const shown = variable.type === 'secret' || text === '' ? '' : `"${text}" `;
  const where = found === null ? '' : `${found.source.name}: `;
  const problem = `${where}${found?.variable ?? variable.name}: ${shown}${parsed.problem}`;
  return { value: null, problem };
}

/** What no variable can say alone; of those that are wrong that is said already. */
function contradictions(values: LauncherSettings, wrong: ReadonlySet<Variable>): string[] {
  const problems: string[] = [];
  const say = (variable: Variable, problem: string): void => {
    if (!wrong.has(variable)) problems.push(`${variable.name}: ${problem}`);
  };
  const { pauseStart, pauseEnd } = values;
  if (pauseStart !== null && pauseStart === pauseEnd)
    say(variables.pauseEnd, `"${pauseEnd}" is also the start of the pause: empty both for none`);
  if (values.controlRoomApiKey === null && values.controlRoomPassword === null)
    say(variables.controlRoomApiKey, `is missing, and so is ${variables.controlRoomPassword.name}`);
  if (values.callbackUrl !== null && values.callbackToken === null)
    say(
      variables.callbackToken,
      `is missing; callbacks to ${variables.callbackUrl.name} must bring a key`,
    );
  if (!values.callbackPath.startsWith('/'))
    say(variables.callbackPath, `"${values.callbackPath}" must begin with /`);
  if (values.gatewayUrl !== null) {
    if (values.gatewayClientId === null) say(variables.gatewayClientId, 'is missing');
    if (values.gatewayClientSecret === null) say(variables.gatewayClientSecret, 'is missing');
  }
  if (values.smtpServer !== null) {
    if (values.mailFrom === null) say(variables.mailFrom, 'is missing');
    if (values.mailTo === null) say(variables.mailTo, 'is missing');
    if (values.smtpUser !== null && values.smtpPassword === null)
      say(variables.smtpPassword, `is missing for ${variables.smtpUser.name}`);
  }
  return problems;
}

/** Known to the launcher of the seed; here something else does it. */
const withoutEffect: readonly (readonly [RegExp, string])[] = [
  [/^SQL_SAM_/, 'is not used: where the tables lie is said by the settings of Capataz'],
  [/^CALLBACK_SERVER_THREADS$/, 'is not used: one process serves all callbacks'],
  [
    /^CALLBACK_AUTH_MODE$/,
    'is not used: the static key is always asked for, the dynamic token never',
  ],
];

function unknownNames(sources: readonly SettingSource[]): string[] {
  const all = Object.values<Variable>(variables satisfies Variables);
  const known = new Set(all.flatMap(({ name, otherNames = [] }) => [name, ...otherNames]));
  return sources.flatMap(({ name: source, values }) =>
    Object.keys(values).flatMap((name) => {
      if (known.has(name)) return [];
      const said = withoutEffect.find(([pattern]) => pattern.test(name))?.[1];
      if (said !== undefined) return [`${source}: ${name} ${said}`];
      return /^(?:LANZADOR|CONCILIADOR)_/.test(name) ? [`${source}: ${name} is no variable`] : [];
    }),
  );
}
