/**
 * Blanks out parts of TypeScript source, so that the rules can search the rest with plain patterns.
 * The compiler's parser is not used: TypeScript 7 offers none to programs.
 */

export interface BlankedSource {
  /** Comments, and the contents of strings, templates and regular expressions, become spaces. */
  readonly code: string;
  /** Only comments become spaces: for reading import specifiers. */
  readonly uncommented: string;
}

/** What a slash after these begins is a regular expression, not a division. */
const beforeRegExp =
  /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|do|else|void))\s*$/;

/** Offsets and line breaks stay what they were. */
export function blank(text: string): BlankedSource {
  const code = [...new Array<string>(text.length)].map((_, at) => text[at] ?? '');
  const uncommented = [...code];
  /** For each open template expression, the number of braces open inside it. */
  const templates: number[] = [];
  let at = 0;

  const erase = (end: number, target: string[]): void => {
    for (let index = at; index < end; index += 1) {
      if (target[index] !== '\n') target[index] = ' ';
    }
  };
  const skipComment = (end: number): void => {
    erase(end, code);
    erase(end, uncommented);
    at = end;
  };
  /** Keeps the delimiters, so that a blanked string still looks like one. */
  const skipLiteral = (end: number): void => {
    at += 1;
    erase(Math.max(at, end - 1), code);
    at = end;
  };
  const skipTemplatePart = (): void => {
    const part = endOfTemplatePart(text, at + 1);
    if (part.opensExpression) templates.push(0);
    skipLiteral(part.end);
  };

  while (at < text.length) {
    const character = text[at] ?? '';
    const pair = text.slice(at, at + 2);
    const braces = templates.at(-1);
    if (pair === '//') skipComment(endOrLength(text, text.indexOf('\n', at)));
    else if (pair === '/*') skipComment(endOrLength(text, text.indexOf('*/', at + 2), 2));
    else if (character === "'" || character === '"') skipLiteral(endOfString(text, at));
    else if (character === '`') skipTemplatePart();
    else if (character === '}' && braces === 0) {
      templates.pop();
      skipTemplatePart();
    } else if (
      character === '/' &&
      beforeRegExp.test(code.slice(Math.max(0, at - 40), at).join(''))
    )
      skipLiteral(endOfRegExp(text, at));
    else {
      if (braces !== undefined && character === '{') templates[templates.length - 1] = braces + 1;
      if (braces !== undefined && character === '}') templates[templates.length - 1] = braces - 1;
      at += 1;
    }
  }
  return { code: code.join(''), uncommented: uncommented.join('') };
}

function endOrLength(text: string, found: number, length = 0): number {
  return found === -1 ? text.length : found + length;
}

function endOfString(text: string, start: number): number {
  const quote = text[start];
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === quote || text[at] === '\n') return at + 1;
  }
  return text.length;
}

function endOfRegExp(text: string, start: number): number {
  let isInClass = false;
  for (let at = start + 1; at < text.length; at += 1) {
    const character = text[at];
    if (character === '\\') at += 1;
    else if (character === '[') isInClass = true;
    else if (character === ']') isInClass = false;
    else if (character === '\n' || (character === '/' && !isInClass)) return at + 1;
  }
  return text.length;
}

function endOfTemplatePart(text: string, start: number): { end: number; opensExpression: boolean } {
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '`') return { end: at + 1, opensExpression: false };
    else if (text[at] === '$' && text[at + 1] === '{')
      return { end: at + 2, opensExpression: true };
  }
  return { end: text.length, opensExpression: false };
}
