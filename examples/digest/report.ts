import type { JsonObject } from 'capataz';
import type { FoundFiles } from './files.ts';

/** What became of one file. */
export interface Digest {
  readonly file: string;
  /** `text`, `empty`, `binary`, `unreadable`, or how the job failed. */
  readonly outcome: string;
  readonly data: JsonObject;
}

export interface Report extends FoundFiles {
  readonly folder: string;
  readonly digests: readonly Digest[];
}

const columns = ['size', 'lines', 'words', 'compressed'] as const;

/** The whole report as Markdown. The same files give the same text, whoever did the work. */
export function reportText({ folder, digests, leftOut }: Report): string {
  const rows = digests.map(({ file, outcome, data }) => [
    file,
    outcome,
    ...columns.map((column) => shown(data[column])),
    typeof data.sha256 === 'string' ? data.sha256.slice(0, 16) : '',
  ]);
  const problems = digests.filter(({ outcome }) => outcome !== 'text');
  return [
    `# Digest of ${folder}`,
    '',
    summary(digests),
    '',
    ...table(['file', 'outcome', ...columns, 'sha256'], rows),
    '',
    ...section(
      'Without content',
      problems.map(({ file, outcome, data }) => `${file}: ${outcome}${reason(data)}`),
    ),
    ...section(
      'Folders not entered',
      leftOut.map(({ folder: name, reason: why }) => `${name}: ${why}`),
    ),
  ].join('\n');
}

export function summary(digests: readonly Digest[]): string {
  const total = (column: string): number =>
    digests.reduce(
      (sum, { data }) => sum + (typeof data[column] === 'number' ? data[column] : 0),
      0,
    );
  const outcomes = new Map<string, number>();
  for (const { outcome } of digests) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  const counts = [...outcomes].sort().map(([outcome, count]) => `${count} ${outcome}`);
  return `${digests.length} files (${counts.join(', ') || 'none'}): ${total('size')} bytes, ${total('lines')} lines, ${total('words')} words, ${total('compressed')} bytes compressed`;
}

function reason({ problem }: JsonObject): string {
  return typeof problem === 'string' ? ` (${problem})` : '';
}

function shown(value: unknown): string {
  return typeof value === 'number' ? String(value) : '';
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [
    line(head),
    `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`,
    ...rows.map(line),
  ];
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`## ${title}`, '', ...lines.map((line) => `- ${line}`), ''];
}
