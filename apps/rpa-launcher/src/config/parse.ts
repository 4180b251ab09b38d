import type { Variable } from './variable.ts';

export type ParsedValue = string | number | boolean | readonly string[] | RegExp;

export type Parsed =
  | { readonly ok: true; readonly value: ParsedValue }
  /** What is wrong, as the end of a sentence that begins with the variable. */
  | { readonly ok: false; readonly problem: string };

const unitMs = {
  seconds: 1_000,
  minutes: 60_000,
  hours: 3_600_000,
  days: 86_400_000,
} as const;

const yes: readonly string[] = ['true', '1', 'yes', 'si', 'sí', 'on'];
const no: readonly string[] = ['false', '0', 'no', 'off'];

/** `text` is neither empty nor has blanks around it. */
export function parse(variable: Variable, text: string): Parsed {
  switch (variable.type) {
    case 'text':
    case 'secret':
      return good(text);
    case 'integer':
      return parseNumber(variable, text, { isWhole: true, factor: 1 });
    case 'port':
      return parseNumber({ ...variable, range: [0, 65_535] }, text, { isWhole: true, factor: 1 });
    case 'seconds':
    case 'minutes':
    case 'hours':
    case 'days':
      return parseNumber(variable, text, { isWhole: false, factor: unitMs[variable.type] });
    case 'boolean': {
      const value = yesOrNo(text);
      return value === null ? bad('must be True or False') : good(value);
    }
    case 'list':
      return parseList(text);
    case 'choice':
      return parseChoice(variable.choices ?? [], text);
    case 'time':
      return /^(?:[01]?\d|2[0-3]):[0-5]\d$/.test(text)
        ? good(text.padStart(5, '0'))
        : bad('must be a time of day, HH:MM');
    case 'url':
      return parseUrl(text);
    case 'zone':
      return parseZone(text);
    case 'pattern':
      return parsePattern(text);
  }
}

/** Null for a word that is neither. */
export function yesOrNo(text: string): boolean | null {
  const word = text.toLowerCase();
  if (yes.includes(word)) return true;
  return no.includes(word) ? false : null;
}

function good(value: ParsedValue): Parsed {
  return { ok: true, value };
}

function bad(problem: string): Parsed {
  return { ok: false, problem };
}

function parseNumber(
  { type, range }: Variable,
  text: string,
  { isWhole, factor }: { readonly isWhole: boolean; readonly factor: number },
): Parsed {
  const number = /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  const what = isWhole ? 'a whole number' : `a number of ${type}`;
  const [least, most] = range ?? [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
  const isRight = number >= least && number <= most && (!isWhole || Number.isInteger(number));
  return isRight ? good(number * factor) : bad(`must be ${what} from ${least} to ${most}`);
}

function parseList(text: string): Parsed {
  const items = text.split(/[,;]/).map((item) => item.trim());
  const filled = items.filter((item) => item !== '');
  return filled.length === 0 ? bad('must name at least one') : good(filled);
}

function parseChoice(choices: readonly string[], text: string): Parsed {
  const choice = choices.find((candidate) => candidate.toLowerCase() === text.toLowerCase());
  return choice === undefined ? bad(`must be one of ${choices.join(', ')}`) : good(choice);
}

function parseUrl(text: string): Parsed {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    return bad('must be an address that begins with https:// or http://');
  return good(text);
}

function parseZone(text: string): Parsed {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return good(text);
  } catch {
    return bad('must be a time zone, as America/Argentina/Buenos_Aires');
  }
}

function parsePattern(text: string): Parsed {
  try {
    return good(new RegExp(text));
  } catch {
    return bad('must be a regular expression');
  }
}
