import { Command } from 'commander';
import { holdsFiles, type MovedFiles, moveFiles } from '../../files/move-files.ts';
import { CapatazError } from '../../protocol/errors.ts';
import { type Chest, recordKindNames } from '../../store/chest.ts';
import { checkMove, type MovedKind, type MoveProgress, move } from '../../store/move.ts';
import { type Session, sessionOf } from '../command.ts';
import type { CliContext } from '../context.ts';
import { UsageError } from '../exit.ts';
import { addSettings } from '../options.ts';
import type { Output, Printer } from '../output.ts';
import { configuredPlace, filesFolder, openChest, storePlace } from '../store-place.ts';

interface MoveFlags {
  readonly from?: string;
  readonly to: string;
  readonly dryRun?: true;
}

const uses = ['storeUrl', 'dataDir', 'timeZone'] as const;

export function moveCommand(context: CliContext): Command {
  const command = new Command('move')
    .description(
      'Carry everything from one store to another: jobs with their tasks, timers and history, workers, events, files. No server may run on either. The source stays as it is, but for the mark that it was moved; a move that was broken off is run again.',
    )
    .option('--from <store>', 'Data folder, or postgres:// URL. Default: the configured store.')
    .requiredOption('--to <store>', 'The same; it has to be empty.')
    .option('--dry-run', 'Say what would be moved, and whether it could be. Changes nothing.')
    .option('--json', 'Write JSON.');
  const meanings = { dataDir: 'Folder with the files of jobs of a side that is a database.' };
  addSettings(command, ['dataDir'], { meanings });
  return command.action((flags: MoveFlags) => carry(flags, sessionOf(command, context, uses)));
}

async function carry(flags: MoveFlags, session: Session): Promise<void> {
  const { context, config } = session;
  const { directory, clock } = context;
  const { values } = config;
  const from =
    flags.from === undefined
      ? configuredPlace(values)
      : storePlace(flags.from, '--from', directory);
  const to = storePlace(flags.to, '--to', directory);
  if (JSON.stringify(from) === JSON.stringify(to))
    throw new UsageError('--from and --to name the same store');
  const folders = { from: filesFolder(from, values), to: filesFolder(to, values) };
  const files = folders.from === folders.to ? null : folders;
  await using closing = new AsyncDisposableStack();
  const source = await openChest(from, clock);
  closing.defer(() => source.close());
  const target = await openChest(to, clock);
  closing.defer(() => target.close());
  const isLastStep = await checkMove(source, target);
  await refuseFiles(files, target);
  const sides = { source, target, files };
  if (flags.dryRun === true) await tellWhat(session, sides, isLastStep);
  else await moveAll(session, sides);
}

interface Sides {
  readonly source: Chest;
  readonly target: Chest;
  /** Folders between which files are copied; null: they stay where they are. */
  readonly files: { readonly from: string; readonly to: string } | null;
}

async function refuseFiles(files: Sides['files'], { mark }: Chest): Promise<void> {
  if (files === null || mark.state !== 'none' || !(await holdsFiles(files.to))) return;
  throw new CapatazError(
    'STORE_NOT_EMPTY',
    `${files.to} holds files of jobs. The target of a move has to be empty: name another folder, or remove this one`,
    { folder: files.to },
  );
}

async function tellWhat(
  { print, asJson }: Session,
  { source, target, files }: Sides,
  isLastStep: boolean,
): Promise<void> {
  const counts = await source.count();
  const found = recordKindNames.map((kind) => ({ kind, records: counts.get(kind) ?? 0 }));
  const { name: from } = source;
  const { name: to } = target;
  if (asJson) {
    return print.json({ from, to, dry_run: true, last_step_only: isLastStep, kinds: found, files });
  }
  print.table(
    ['KIND', 'RECORDS'],
    found.map(({ kind, records }) => [kind, String(records)]),
  );
  if (files !== null) print.line(`files: ${files.from} to ${files.to}`);
  tellApart(print, found);
  print.line(`could be moved from ${from} to ${to}; nothing was changed`);
}

async function moveAll(
  { context, print, asJson }: Session,
  { source, target, files }: Sides,
): Promise<void> {
  let moved: MovedFiles | null = null;
  const { isResumed, kinds } = await move({
    from: source,
    to: target,
    id: context.random.id(),
    copyBeside: async () => {
      if (files !== null) moved = await moveFiles(files.from, files.to);
    },
    onProgress: progressOn(context.stderr),
  });
  const { name: from } = source;
  const { name: to } = target;
  if (asJson) {
    const rows = kinds.map(({ kind, records, hash }) => ({ kind, records, sha256: hash }));
    const answer = { from, to, dry_run: false, last_step_only: isResumed, kinds: rows };
    return print.json({ ...answer, files: moved });
  }
  if (isResumed) print.line('everything was there already: only the last step of a move was left');
  else print.table(['KIND', 'RECORDS', 'SHA-256'], summaryOf(kinds, moved));
  tellApart(print, kinds);
  print.line(`moved from ${from} to ${to}`);
}

/** Only what is known of it is moved. */
function tellApart(print: Printer, kinds: readonly Pick<MovedKind, 'kind' | 'records'>[]): void {
  const jobs = kinds.find(({ kind }) => kind === 'archived_book')?.records ?? 0;
  if (jobs === 0) return;
  print.line(
    `the history of ${jobs} jobs lies apart and stays there: keep the setting \`history\``,
  );
}

function summaryOf(kinds: readonly MovedKind[], moved: MovedFiles | null): string[][] {
  const rows = kinds.map(({ kind, records, hash }) => [kind, String(records), hash.slice(0, 16)]);
  if (moved === null) return rows;
  return [...rows, ['files', String(moved.files), `${moved.bytes} bytes, each compared`]];
}

/** Of a large kind a line now and then, so that somebody who waits sees it move. */
const tellEvery = 100_000;

function progressOn(output: Output): (progress: MoveProgress) => void {
  let told = 0;
  return (progress) => {
    if (!('kind' in progress)) {
      told = 0;
      output.write(`${sentences[progress.step]}\n`);
      return;
    }
    const { step, kind, records, total } = progress;
    if (records < told) told = 0;
    if (records !== total && records - told < tellEvery) return;
    told = records;
    output.write(`${kind}: ${records} of ${total} ${step}\n`);
  };
}

const sentences = {
  begun: 'the target is marked as incomplete',
  settled: 'everything is written; comparing',
  verified: 'everything was compared and is the same',
  source_marked: 'the source is marked as moved',
  done: 'the target is free',
} as const;
