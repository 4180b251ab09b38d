/**
 * `node scripts/run.mjs reference`: writes the pages of docs/reference that are tables of the code.
 * test/tidy/reference.test.ts fails when a page is not what the code says.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { processContext } from '../packages/capataz/src/cli/context.ts';
import { createProgram } from '../packages/capataz/src/cli/program.ts';
import { commandRows, settingRows } from '../packages/capataz/src/cli/reference.ts';
import { reactions } from '../packages/capataz/src/core/decide.ts';
import { refusalReasons } from '../packages/capataz/src/core/signal.ts';
import {
  jobStatuses,
  taskMayBecome,
  taskStatuses,
  workerMayBecome,
  workerStatuses,
} from '../packages/capataz/src/core/status.ts';
import { errorCatalogue } from '../packages/capataz/src/protocol/errors.ts';
import { repositoryRoot } from './steps.ts';

export interface Page {
  /** Relative to the repository. */
  readonly path: string;
  readonly text: string;
}

const notice =
  '<!-- Written by `node scripts/run.mjs reference`; change the code, not this page. -->';

export function referencePages(): readonly Page[] {
  return [
    { path: 'docs/reference/errors.md', text: errorsPage() },
    { path: 'docs/reference/transitions.md', text: transitionsPage() },
    { path: commandsPath, text: commandsPage() },
  ];
}

const commandsPath = 'docs/reference/cli.md';

/** Its words are written by hand, and only its tables of commands and settings are of the code. */
function commandsPage(): string {
  const text = readFileSync(join(repositoryRoot, commandsPath), 'utf8');
  const commands = commandRows(createProgram(processContext()));
  return withRows(
    withRows(text, '| command | what it does |', commands),
    '| key | type |',
    settingRows(),
  );
}

/** The page with these rows in its one table whose header begins so. */
function withRows(text: string, header: string, rows: readonly string[]): string {
  const lines = text.split('\n');
  const first = lines.findIndex((line) => line.startsWith(header)) + 2;
  const count = lines.slice(first).findIndex((line) => !line.startsWith('|'));
  return lines.toSpliced(first, count, ...rows).join('\n');
}

function errorsPage(): string {
  const rows = Object.entries(errorCatalogue)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([code, { status, retryable, meaning }]) => [
      `\`${code}\``,
      status === null ? '–' : String(status),
      retryable ? 'yes' : 'no',
      meaning,
    ]);
  return page('Errors', [
    `Everything that Capataz refuses, with a stable code. *HTTP* is the status of the answer; a dash
means that the error stops a start, or is met by a client, and never crosses the wire. *Retryable*
says that the same request may succeed later.`,
    table(['code', 'HTTP', 'retryable', 'meaning'], rows),
  ]);
}

function transitionsPage(): string {
  return page('Transitions', [
    '## Jobs',
    `What a signal does to a job in each status: **applies**, or the reason why it changes nothing. A
pair that applies may still be refused by its particulars: an older attempt, a lease that another
holds, a deadline that was disarmed.`,
    table(['signal', ...jobStatuses.map((status) => `\`${status}\``)], reactionRows()),
    '### Why a signal changes nothing',
    table(['reason', 'meaning'], reasonRows()),
    '## Tasks',
    `From the row to the column. A retry (\`FAILED\` or \`TIMEOUT\` → \`PENDING\`) is in no cell: only the
retry rule takes that step, in the commit that writes the failure.`,
    matrix(taskStatuses, taskMayBecome),
    '## Workers',
    matrix(workerStatuses, workerMayBecome),
  ]);
}

function reactionRows(): string[][] {
  return Object.entries(reactions).map(([signal, byStatus]) => [
    `\`${signal}\``,
    ...jobStatuses.map((status) => {
      const reaction = byStatus[status];
      return reaction === 'applies' ? '**applies**' : reaction;
    }),
  ]);
}

function reasonRows(): string[][] {
  return Object.entries(refusalReasons)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([reason, meaning]) => [`\`${reason}\``, meaning]);
}

function matrix<S extends string>(
  statuses: readonly S[],
  mayBecome: (from: S, to: S) => boolean,
): string {
  const header = ['from', ...statuses.map((status) => `\`${status}\``)];
  const rows = statuses.map((from) => [
    `\`${from}\``,
    ...statuses.map((to) => (mayBecome(from, to) ? 'yes' : '')),
  ]);
  return table(header, rows);
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}

function page(title: string, parts: readonly string[]): string {
  return `${[`# ${title}`, notice, ...parts].join('\n\n')}\n`;
}

if (import.meta.main) {
  for (const { path, text } of referencePages()) {
    const target = join(repositoryRoot, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
    console.log(path);
  }
}
