import type { Estate } from './estate.ts';
import { type Item, type Listed, listed, valuesAsked } from './query.ts';
import type { Runs } from './runs.ts';
import { activityViews, deviceView, robotView, userView } from './views.ts';
import type { Endpoint, Switches } from './world.ts';

export interface Shown {
  readonly estate: Estate;
  readonly runs: Runs;
  readonly switches: Switches;
  readonly now: number;
}

/** @throws QueryError */
export function list(endpoint: Endpoint, query: Item, shown: Shown): Listed {
  const { pageCap, answersTotals } = shown.switches;
  const filterable = filterableOf(endpoint, shown.switches);
  return listed(itemsOf(endpoint, query.filter, shown), query, {
    filterable,
    pageCap,
    answersTotals,
  });
}

function filterableOf(
  endpoint: Endpoint,
  { filtersAutomationName }: Switches,
): readonly string[] | null {
  if (endpoint === 'devices') return ['id', 'hostName', 'userId', 'status'];
  if (endpoint !== 'activity') return null;
  const fields = ['automationId', 'deviceId', 'status', 'deploymentId', 'fileId'];
  return filtersAutomationName ? [...fields, 'automationName'] : fields;
}

function itemsOf(endpoint: Endpoint, filter: unknown, shown: Shown): Item[] {
  const { estate, switches } = shown;
  const users = [...estate.users.values()];
  switch (endpoint) {
    case 'files':
      return [...estate.robots.values()].map((robot) => robotView(robot, switches));
    case 'users':
      return users.map((user) => userView(user, switches));
    case 'devices':
      return [...estate.devices.values()].map((device) => {
        const own = users.filter(({ deviceId }) => deviceId === device.id);
        return deviceView(device, own, switches);
      });
    default:
      return activities(filter, shown);
  }
}

/** Only what the filter can mean is looked at: a month of runs is long. */
function activities(filter: unknown, { estate, runs, switches, now }: Shown): Item[] {
  const ids = valuesAsked(filter, 'deploymentId');
  const deviceIds = valuesAsked(filter, 'deviceId');
  const meant =
    ids !== null
      ? ids.flatMap((id) => runs.get(id) ?? [])
      : deviceIds !== null
        ? deviceIds.flatMap((id) => runs.ofDevice(Number(id)))
        : runs.all;
  return meant
    .filter((run) => run.visibleAt <= now && !run.isVanished)
    .flatMap((run) => {
      const names = {
        robot: estate.robots.get(run.robotId),
        device: estate.devices.get(run.deviceId),
      };
      return activityViews(run, names, switches);
    });
}
