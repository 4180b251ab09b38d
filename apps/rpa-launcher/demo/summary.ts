import { executionInput, recordOf } from '../src/execution/record.ts';
import type { World } from '../src/simulation/world.ts';

export interface Summary {
  readonly text: string;
  /** What does not fit together: expected to be nothing. */
  readonly problems: readonly string[];
}

/** What the launcher says of the day, held against what the Control Room really ran. */
export async function summary(world: World): Promise<Summary> {
  const jobs = await world.jobs();
  const rows = await world.executions();
  const history = await world.db.selectFrom('Ejecuciones_Historico').selectAll().execute();
  const all = [...rows, ...history];
  const deployed = all.filter(({ DeploymentId }) => !DeploymentId.startsWith('local:'));
  const byState = Object.entries(Object.groupBy(jobs, ({ state }) => state)).sort();
  const origins = Object.entries(
    Object.groupBy(jobs, ({ input }) => executionInput.parse(input).origin),
  );
  const reasons = Object.entries(
    Object.groupBy(
      jobs.filter(({ state }) => state === 'OMITIDA'),
      (job) => recordOf(job).reason ?? 'nobody has deployed it in its window',
    ),
  );
  const callbacks = await world.db.selectFrom('Callbacks').select('Resultado').execute();
  const lines: (readonly [string, number])[] = [
    ...origins.map(([origin, list = []]) => [`executions, ${origin}`, list.length] as const),
    ['executions in all', jobs.length],
    ...byState.map(([state, list = []]) => [`  ${state}`, list.length] as const),
    ...reasons.map(([reason, list = []]) => [`    left out: ${reason}`, list.length] as const),
    ['were UNKNOWN for a while', jobs.filter((job) => recordOf(job).lastUnknownAt !== null).length],
    ['lost answers that a look-up found', world.lines('whose answer was lost was found').length],
    ['rows of Ejecuciones and its history', all.length],
    ['deployments in the Control Room', world.fake.runs.length],
    ['callbacks taken', callbacks.length],
    ['assignments taken away, restorable', await countOf(world)],
    ['mails', world.alerts.mails.length],
  ];
  const width = Math.max(...lines.map(([name]) => name.length));
  const text = lines.map(([name, value]) => `${name.padEnd(width)}  ${String(value).padStart(5)}`);
  return {
    text: `\n${text.join('\n')}`,
    problems: problemsOf(world, jobs.length, deployed, byState),
  };
}

async function countOf({ db }: World): Promise<number> {
  return (await db.selectFrom('AsignacionesRetiradas').select('RetiradaId').execute()).length;
}

function problemsOf(
  { fake }: World,
  jobs: number,
  deployed: readonly { readonly DeploymentId: string }[],
  byState: readonly (readonly [string, unknown[] | undefined])[],
): string[] {
  const problems: string[] = [];
  const sum = byState.reduce((total, [, list = []]) => total + list.length, 0);
  if (sum !== jobs) problems.push(`${sum} executions by state, ${jobs} in all`);
  if (deployed.length !== fake.runs.length)
    problems.push(`${deployed.length} rows with a deployment, ${fake.runs.length} deployments`);
  const known = new Set(deployed.map(({ DeploymentId }) => DeploymentId));
  for (const { deploymentId } of fake.runs)
    if (!known.has(deploymentId)) problems.push(`${deploymentId} ran, and no row tells of it`);
  const twice = [...fake.runsByName()].filter(([, count]) => count > 1);
  if (twice.length > 0) problems.push(`${twice.length} deployments ran more than once`);
  return problems;
}
