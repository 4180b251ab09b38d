import { Command, CommanderError } from 'commander';
import { packageVersion } from '../compose/version.ts';
import { applicationCommand } from './application-command.ts';
import { approvalsCommand } from './commands/approvals.ts';
import { blueprintsCommand } from './commands/blueprints.ts';
import { configCommand } from './commands/config.ts';
import { devCommand } from './commands/dev.ts';
import { dlqCommand } from './commands/dlq.ts';
import { doctorCommand } from './commands/doctor.ts';
import { jobsCommand } from './commands/jobs.ts';
import { migrateCommand } from './commands/migrate.ts';
import { moveCommand } from './commands/move.ts';
import { schedulesCommand } from './commands/schedules.ts';
import { serveCommand } from './commands/serve.ts';
import { traceCommand } from './commands/trace.ts';
import { whyCommand } from './commands/why.ts';
import { workerCommand } from './commands/worker.ts';
import { workersCommand } from './commands/workers.ts';
import type { CliContext } from './context.ts';
import { errorText, exitCodeHelp, exitCodeOf, exitCodes } from './exit.ts';

/** Every command, in the order of the help. */
const commands = {
  dev: devCommand,
  serve: serveCommand,
  worker: workerCommand,
  jobs: jobsCommand,
  approvals: approvalsCommand,
  dlq: dlqCommand,
  why: whyCommand,
  trace: traceCommand,
  workers: workersCommand,
  blueprints: blueprintsCommand,
  schedules: schedulesCommand,
  doctor: doctorCommand,
  migrate: migrateCommand,
  move: moveCommand,
  config: configCommand,
};

export const commandNames: readonly string[] = Object.keys(commands);

export function createProgram(context: CliContext): Command {
  const { name, commands: further } = context.application;
  const program = new Command(name)
    .description('A durable job orchestrator')
    .version(packageVersion())
    .addHelpText('afterAll', exitCodeHelp);
  for (const create of Object.values(commands)) program.addCommand(create(context));
  for (const own of further) program.addCommand(applicationCommand(own, context));
  prepare(program, context);
  return program;
}

/** Runs one command line. @returns the exit code. Never throws. */
export async function run(args: readonly string[], context: CliContext): Promise<number> {
  try {
    await createProgram(context).parseAsync(args, { from: 'user' });
    return context.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage;
    context.stderr.write(errorText(error, context.application.name));
    return exitCodeOf(error);
  }
}

/** Settings that commander does not hand down to commands that were made apart. */
function prepare(command: Command, context: CliContext): void {
  command
    .exitOverride()
    .showHelpAfterError('(--help shows what there is)')
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, 'error USAGE: ')),
      getOutHasColors: () => context.stdout.isTerminal,
      getErrHasColors: () => context.stderr.isTerminal,
    });
  for (const child of command.commands) prepare(child, context);
}
