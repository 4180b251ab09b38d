import { Command, CommanderError } from 'commander';
import { approvalsCommand } from './commands/approvals.ts';
import { blueprintsCommand } from './commands/blueprints.ts';
import { configCommand } from './commands/config.ts';
import { devCommand } from './commands/dev.ts';
import { dlqCommand } from './commands/dlq.ts';
import { doctorCommand } from './commands/doctor.ts';
import { jobsCommand } from './commands/jobs.ts';
import { serveCommand } from './commands/serve.ts';
import { whyCommand } from './commands/why.ts';
import { workerCommand } from './commands/worker.ts';
import { workersCommand } from './commands/workers.ts';
import type { CliContext } from './context.ts';
import { errorText, exitCodeHelp, exitCodeOf, exitCodes } from './exit.ts';
import { packageVersion } from './version.ts';

/** Every command, in the order of the help. */
export function createProgram(context: CliContext): Command {
  const program = new Command('capataz')
    .description('A durable job orchestrator')
    .version(packageVersion())
    .addHelpText('afterAll', exitCodeHelp);
  const commands = [
    devCommand,
    serveCommand,
    workerCommand,
    jobsCommand,
    approvalsCommand,
    dlqCommand,
    whyCommand,
    workersCommand,
    blueprintsCommand,
    doctorCommand,
    configCommand,
  ];
  for (const create of commands) program.addCommand(create(context));
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
    context.stderr.write(errorText(error));
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
