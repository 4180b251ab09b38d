import { parseDuration } from '../std/duration.ts';
import type { Setting, SettingValue } from './setting.ts';
import { kindOf } from './toml.ts';

export type Parsed =
  | { readonly ok: true; readonly value: SettingValue }
  | { readonly ok: false; readonly problem: string };

/** Reads text, as flags and the environment give it. */
export function parseText(setting: Setting, text: string): Parsed {
  if (isOff(setting, text)) return { ok: true, value: 0 };
  switch (setting.type) {
    case 'port':
    case 'integer':
      return /^-?\d+$/.test(text)
        ? parseInteger(setting, Number(text))
        : refused(`must be a whole number, not "${text}"`);
    case 'number':
      return /^-?\d+(?:\.\d+)?$/.test(text)
        ? withinRange(setting, Number(text), String)
        : refused(`must be a number, not "${text}"`);
    case 'duration':
      return parseLength(setting, text);
    case 'choice':
      return parseChoice(setting, text);
    case 'boolean':
      return parseBoolean(text);
    case 'url':
      return parseUrl(setting, text);
    case 'zone':
      return parseZone(text);
    case 'tables':
      return refused('can only stand in the file, as [[…]]');
    case 'string':
    case 'path':
    case 'folder':
      return text === '' && setting.canBeEmpty !== true
        ? refused('must not be empty')
        : { ok: true, value: text };
  }
}

/** Reads a value of a TOML file, where numbers are numbers and everything else is a string. */
export function parseFileValue(setting: Setting, value: unknown): Parsed {
  if (isOff(setting, value)) return { ok: true, value: 0 };
  const isNumeric = setting.type === 'port' || setting.type === 'integer';
  if (isNumeric) {
    return typeof value === 'number'
      ? parseInteger(setting, value)
      : refused(`must be a whole number, not ${kindOf(value)}`);
  }
  if (setting.type === 'number') {
    return typeof value === 'number' && Number.isFinite(value)
      ? withinRange(setting, value, String)
      : refused(`must be a number, not ${kindOf(value)}`);
  }
  if (setting.type === 'boolean') {
    return typeof value === 'boolean'
      ? { ok: true, value }
      : refused(`must be true or false, not ${kindOf(value)}`);
  }
  if (typeof value === 'string') return parseText(setting, value);
  const wanted = setting.type === 'duration' ? 'a duration like "10s"' : 'a string';
  return refused(`must be ${wanted}, not ${kindOf(value)}`);
}

function isOff({ canBeOff }: Setting, value: unknown): boolean {
  return canBeOff === true && (value === 0 || value === '0' || value === 'off');
}

/** A bare number of seconds, as some of the seeds' names have it. */
export function parseSeconds(setting: Setting, text: string): Parsed {
  const seconds = Number(text);
  if (text.trim() === '' || !(seconds >= 0)) {
    return refused(`must be a number of seconds, not "${text}"`);
  }
  return withinRange(setting, Math.round(seconds * 1_000), (ms) => `${ms} ms`);
}

function parseInteger(setting: Setting, value: number): Parsed {
  if (!Number.isSafeInteger(value)) return refused(`must be a whole number, not ${value}`);
  const range = setting.type === 'port' ? ([0, 65_535] as const) : setting.range;
  return withinRange({ ...setting, ...(range && { range }) }, value, String);
}

function parseLength(setting: Setting, text: string): Parsed {
  const ms = parseDuration(text);
  if (ms === undefined) {
    return refused(`must be a duration like 500ms, 10s, 5m or 1h30m, not "${text}"`);
  }
  return withinRange(setting, ms, (bound) => `${bound} ms`);
}

function withinRange({ range }: Setting, value: number, show: (bound: number) => string): Parsed {
  if (range !== undefined && (value < range[0] || value > range[1])) {
    return refused(`must be from ${show(range[0])} to ${show(range[1])}, not ${show(value)}`);
  }
  return { ok: true, value };
}

/** The seeds write levels in capitals, and one of them longer. */
function parseChoice({ choices = [] }: Setting, text: string): Parsed {
  const word = text.toLowerCase() === 'warning' ? 'warn' : text.toLowerCase();
  if (choices.includes(word)) return { ok: true, value: word };
  return refused(`must be one of ${choices.join(', ')}, not "${text}"`);
}

function parseBoolean(text: string): Parsed {
  if (/^(?:true|yes|on|1)$/i.test(text)) return { ok: true, value: true };
  if (/^(?:false|no|off|0)$/i.test(text)) return { ok: true, value: false };
  return refused(`must be true or false, not "${text}"`);
}

function parseUrl({ isBase }: Setting, text: string): Parsed {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return refused(`must be a URL that begins with http:// or https://, not "${text}"`);
  }
  if (url.username !== '' || url.password !== '') {
    return refused('must hold no user name and no password; tokens have settings of their own');
  }
  if (isBase === true && /[?#]/.test(text)) {
    return refused(`must have no query and no fragment: paths are put behind it, not "${text}"`);
  }
  return { ok: true, value: text.replace(/\/+$/, '') };
}

function parseZone(text: string): Parsed {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return { ok: true, value: text };
  } catch {
    return refused(`must be a zone like UTC or America/Bogota, not "${text}"`);
  }
}

function refused(problem: string): Parsed {
  return { ok: false, problem };
}
