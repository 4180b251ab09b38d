import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { holdsFiles, type MovedFiles, moveFiles } from '../../files/move-files.ts';
import { CapatazError } from '../../protocol/errors.ts';
import { type Chest, recordKindNames } from '../../store/chest.ts';
import { checkMove, type MovedKind, type MoveProgress, move } from '../../store/move.ts';
import { type Session, sessionOf } from '../command.ts';
import type { CliContext } from '../context.ts';
import { UsageError } from '../exit.ts';
import type { Output } from '../output.ts';
import { openChest, type StorePlace, storePlace } from '../store-place.ts';

interface MoveFlags {
  readonly from: string;
  readonly to: string;
  readonly files?: string;
  readonly dryRun?: true;
}

export function moveCommand(context: CliContext): Command {
  const command = new Command('move')
    .description(
      'Carry everything from one store to another: jobs with their tasks, timers and history, workers, events, files. No server may run on either. The source stays as it is and is marked as moved at the end; a move that was broken off is run again.',
    )
    .requiredOption('--from <store>', 'Data folder, or postgres:// URL (?schema=name).')
    .requiredOption('--to <store>', 'The same; it has to be empty.')
    .option(
      '--files <folder>',
      "Data folder with the files of a side that is a database. Default: the other side's folder, where they stay.",
    )
    .option('--dry-run', 'Say what would be moved, and whether it could be. Changes nothing.')
    .option('--json', 'Write JSON.')
    .option('-c, --config <path>', 'Configuration file. (CAPATAZ_CONFIG, default capataz.toml)');
  return command.action((flags: MoveFlags) =>
    carry(flags, sessionOf(command, context, ['timeZone'])),
  );
}

async function carry(flags: MoveFlags, session: Session): Promise<void> {
  const { context } = session;
  const { directory, clock } = context;
  const from = storePlace(flags.from, '--from', directory);
  const to = storePlace(flags.to, '--to', directory);
  if (JSON.stringify(from) === JSON.stringify(to))
    throw new UsageError('--from and --to name the same store');
  const files = filesOf({ from, to, given: flags.files, directory });
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

/** The files of jobs lie in a data folder, whatever keeps the records. */
function filesOf({
  from,
  to,
  given,
  directory,
}: {
  readonly from: StorePlace;
  readonly to: StorePlace;
  readonly given: string | undefined;
  readonly directory: string;
}): Sides['files'] {
  const named = given === undefined ? null : resolve(directory, given);
  const folderOf = (place: StorePlace): string | null =>
    place.kind === 'folder' ? place.folder : named;
  if (named !== null && from.kind === to.kind)
    throw new UsageError('--files is for a move between a data folder and a database');
  const source = folderOf(from);
  const target = folderOf(to);
  if (source === null || target === null || source === target) return null;
  return { from: join(source, 'files'), to: join(target, 'files') };
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
  print.line(`moved from ${from} to ${to}`);
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
