import { stripVTControlCharacters } from 'node:util';

/** One failing test, as its runner named it. */
export interface FailingTest {
  readonly name: string;
  /** What the runner said about it, at most `maxDetailLines` lines. */
  readonly detail: string;
}

/**
 * How a runner announces a failure. `name` is group 1 of the pattern; what follows, up to the next
 * announcement or to a line that `ends`, is the detail.
 */
interface Announcement {
  readonly runner: string;
  readonly pattern: RegExp;
}

const announcements: readonly Announcement[] = [
  { runner: 'TAP', pattern: /^\s*not ok \d+ - (.+)$/ },
  { runner: 'Node, Vitest and Mocha', pattern: /^\s*(?:✖|×|✗|✘) (.+?)(?: \([\d.]+ ?m?s\))?$/ },
  { runner: 'Jest', pattern: /^\s*● (.+)$/ },
  { runner: 'Mocha’s list', pattern: /^ {2}\d+\) (.+)$/ },
  { runner: 'pytest', pattern: /^(?:FAILED|ERROR) (\S+(?: - .+)?)$/ },
  { runner: 'pytest’s sections', pattern: /^_{3,} (.+?) _{3,}$/ },
  { runner: 'Go', pattern: /^\s*--- FAIL: (\S+)/ },
  { runner: 'Rust', pattern: /^---- (.+) stdout ----$/ },
  { runner: 'JUnit and Maven', pattern: /^(?:\[ERROR\] )+(\S+(?:\.\S+)+:\d+ .+)$/ },
  { runner: 'compilers', pattern: /^(\S+?[(:]\d+[:,]\d+\)?: error\b.*)$/ },
  { runner: 'git', pattern: /^(CONFLICT .+)$/ },
];

/** Lines that are about no test: progress, sums, and those that passed. */
const noise =
  /^(?:ok \d+|# |ℹ |✔|✓|\s*PASS\b|=== RUN|TAP version|\d+\.\.\d+$|test result:|\s*at node:internal)/;

const maxTests = 20;
const maxDetailLines = 25;
const maxLineChars = 400;

/** The failures that a log tells of, each once, in the order in which they come. */
export function failingTests(log: string): readonly FailingTest[] {
  const found = new Map<string, string[]>();
  let detail: string[] | null = null;
  for (const raw of stripVTControlCharacters(log).split('\n')) {
    const line = raw.trimEnd().slice(0, maxLineChars);
    const name = nameIn(line);
    if (name !== null) {
      detail = found.get(name) ?? [];
      found.set(name, detail);
    } else if (noise.test(line)) {
      detail = null;
    } else if (detail !== null && line !== '' && detail.length < maxDetailLines) {
      detail.push(line);
    }
  }
  return [...found]
    .filter(([name]) => name !== 'failing tests:')
    .slice(0, maxTests)
    .map(([name, lines]) => ({ name, detail: lines.join('\n') }));
}

function nameIn(line: string): string | null {
  for (const { pattern } of announcements) {
    const [, name] = pattern.exec(line) ?? [];
    if (name !== undefined) return name.trim();
  }
  return null;
}
