import type { Command } from 'commander';
import type { Client, JobView } from '../../client/index.ts';
import { clientCommand, withSession } from '../command.ts';
import type { ConnectOptions } from '../connect.ts';
import type { CliContext } from '../context.ts';

type Steer = (client: Client, id: string, flags: { readonly reason?: string }) => Promise<JobView>;

/** What an operator may do to a job: each answers with the job as it stands afterwards. */
export function steeringCommands(context: CliContext): Command[] {
  const cancel = steering(
    { name: 'cancel', description: 'Cancel a job for good; its worker is told to stop.' },
    (client, id, { reason }) => client.jobs.cancel(id, reason === undefined ? {} : { reason }),
    context,
  ).option('--reason <text>', 'Stands in the book.');
  return [
    cancel,
    redriveCommand(context),
    dismissCommand(context),
    steering(
      { name: 'hold', description: 'Begin nothing more for a job; its deadlines go on.' },
      (client, id) => client.jobs.hold(id),
      context,
    ),
    steering(
      { name: 'release', description: 'End a hold.' },
      (client, id) => client.jobs.release(id),
      context,
    ),
  ];
}

function redriveCommand(context: CliContext): Command {
  return steering(
    {
      name: 'redrive',
      description: 'Let a quarantined job try again where it failed.',
      needsBlueprints: true,
    },
    (client, id) => client.jobs.redrive(id),
    context,
  );
}

function dismissCommand(context: CliContext): Command {
  return steering(
    {
      name: 'dismiss',
      description: 'Give a quarantined job up: it ends as failed, with the error that parked it.',
    },
    (client, id, { reason }) => client.jobs.dismiss(id, reason === undefined ? {} : { reason }),
    context,
  ).option('--reason <text>', 'Stands in the book.');
}

interface Steering extends ConnectOptions {
  readonly name: string;
  readonly description: string;
}

function steering(
  { name, description, ...connect }: Steering,
  steer: Steer,
  context: CliContext,
): Command {
  const command = clientCommand(`${name} <job>`, description);
  return command.action((id: string, flags: { readonly reason?: string }) =>
    withSession(
      command,
      context,
      async ({ client, print, asJson }) => {
        const job = await steer(client, id, flags);
        if (asJson) print.json(job);
        else print.line(`job ${id} ${job.status}${job.held ? ' (held)' : ''} in ${job.state}`);
      },
      connect,
    ),
  );
}
