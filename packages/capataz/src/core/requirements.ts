import { canonicalJson, type JsonValue } from '../std/json.ts';

/** What a task asks of a worker beyond the skill. Each member must be met; none asks nothing. */
export interface Requirements {
  /** Each must be met by a different device of the worker. */
  readonly devices?: readonly DeviceRequirement[];
  /** Properties of the worker's resources: numbers at least, lists by overlap, others equal. */
  readonly properties?: Readonly<Record<string, JsonValue>>;
  /** Models and the like, by name and, unless left out, version. */
  readonly artifacts?: readonly { readonly name: string; readonly version?: string }[];
  /** Program → version, or `any`. */
  readonly software?: Readonly<Record<string, string>>;
  /** Equal members of the worker's `capabilities.extra`. */
  readonly extra?: Readonly<Record<string, JsonValue>>;
  /** Only this worker: the task is SCHEDULED to it. */
  readonly worker?: string;
}

export interface DeviceRequirement {
  readonly type?: string;
  /** Part of the device's model name, letter case aside. */
  readonly model?: string;
  readonly properties?: Readonly<Record<string, JsonValue>>;
}

/** What a worker offers, as it registered. */
export interface Offer {
  readonly worker: string;
  readonly skills: readonly string[];
  readonly hotSkills: readonly string[];
  readonly devices: readonly OfferedDevice[];
  readonly properties: Readonly<Record<string, JsonValue>>;
  readonly artifacts: readonly { readonly name: string; readonly version: string }[];
  readonly software: Readonly<Record<string, string>>;
  readonly extra: Readonly<Record<string, JsonValue>>;
  readonly costPerSkill: Readonly<Record<string, number>>;
}

export interface OfferedDevice {
  readonly type: string;
  readonly model: string;
  readonly properties: Readonly<Record<string, JsonValue>>;
}

/**
 * Tasks queue by class: what decides whether a worker fits. Fit is judged once per class and
 * worker, so that a backlog that nobody here can do costs a poll nothing.
 */
export interface TaskClass {
  readonly key: string;
  readonly client: string;
  readonly skill: string;
  readonly requirements: Requirements;
  readonly maxCost: number | null;
}

export function taskClass({
  client,
  skill,
  requirements,
  maxCost,
}: Omit<TaskClass, 'key'>): TaskClass {
  return {
    key: canonicalJson([client, skill, requirements, maxCost]),
    client,
    skill,
    requirements,
    maxCost,
  };
}

/** @returns the first requirement that the offer fails, in words for people, or null if it fits. */
export function misfit(task: TaskClass, offer: Offer): string | null {
  const asked = task.requirements;
  if (!offer.skills.includes(task.skill)) return `has no skill "${task.skill}"`;
  if (asked.worker !== undefined && asked.worker !== offer.worker) {
    return `is not the worker "${asked.worker}" that the task is for`;
  }
  return (
    costMisfit(task, offer) ??
    devicesMisfit(asked.devices ?? [], offer.devices) ??
    propertiesMisfit('property', asked.properties ?? {}, offer.properties) ??
    artifactsMisfit(asked.artifacts ?? [], offer.artifacts) ??
    softwareMisfit(asked.software ?? {}, offer.software) ??
    propertiesMisfit('extra capability', asked.extra ?? {}, offer.extra)
  );
}

function costMisfit({ maxCost, skill }: TaskClass, offer: Offer): string | null {
  if (maxCost === null) return null;
  const cost = offer.costPerSkill[skill];
  if (cost !== undefined && cost <= maxCost) return null;
  return cost === undefined
    ? `names no cost for "${skill}" and the task allows at most ${maxCost}`
    : `asks ${cost} for "${skill}" and the task allows at most ${maxCost}`;
}

/** Takes devices greedily, the choosiest requirement first: enough for the handful that a box has. */
function devicesMisfit(
  asked: readonly DeviceRequirement[],
  offered: readonly OfferedDevice[],
): string | null {
  const free = new Set(offered);
  const choosiestFirst = asked.toSorted((a, b) => takers(a, offered) - takers(b, offered));
  for (const device of choosiestFirst) {
    const taken = [...free].find((candidate) => deviceFits(device, candidate));
    if (taken === undefined) return `has no free device that meets ${canonicalJson(device)}`;
    free.delete(taken);
  }
  return null;
}

function takers(asked: DeviceRequirement, offered: readonly OfferedDevice[]): number {
  return offered.filter((device) => deviceFits(asked, device)).length;
}

function deviceFits(asked: DeviceRequirement, device: OfferedDevice): boolean {
  return (
    (asked.type === undefined || asked.type === device.type) &&
    (asked.model === undefined || device.model.toLowerCase().includes(asked.model.toLowerCase())) &&
    propertiesMisfit('', asked.properties ?? {}, device.properties) === null
  );
}

function propertiesMisfit(
  kind: string,
  asked: Readonly<Record<string, JsonValue>>,
  offered: Readonly<Record<string, JsonValue>>,
): string | null {
  for (const [name, value] of Object.entries(asked)) {
    const has = Object.hasOwn(offered, name) ? offered[name] : undefined;
    if (!valueMeets(value, has)) {
      return `${kind} ${name} is ${canonicalJson(has)}, needs ${describe(value)}`;
    }
  }
  return null;
}

function valueMeets(asked: JsonValue, has: JsonValue | undefined): boolean {
  if (has === undefined) return false;
  if (typeof asked === 'number') return typeof has === 'number' && has >= asked;
  if (!Array.isArray(asked)) return canonicalJson(asked) === canonicalJson(has);
  const offered = (Array.isArray(has) ? has : [has]).map(canonicalJson);
  return asked.some((item) => offered.includes(canonicalJson(item)));
}

function describe(value: JsonValue): string {
  if (typeof value === 'number') return `at least ${value}`;
  return Array.isArray(value) ? `one of ${canonicalJson(value)}` : canonicalJson(value);
}

function artifactsMisfit(
  asked: readonly { readonly name: string; readonly version?: string }[],
  offered: Offer['artifacts'],
): string | null {
  for (const { name, version } of asked) {
    const same = offered.filter((artifact) => artifact.name === name);
    if (same.length === 0) return `has no artifact "${name}"`;
    if (version !== undefined && !same.some((artifact) => artifact.version === version)) {
      return `has artifact "${name}" ${same.map((artifact) => artifact.version).join(', ')}, needs ${version}`;
    }
  }
  return null;
}

function softwareMisfit(
  asked: Readonly<Record<string, string>>,
  offered: Offer['software'],
): string | null {
  for (const [name, version] of Object.entries(asked)) {
    const has = Object.hasOwn(offered, name) ? offered[name] : undefined;
    if (has === undefined) return `has no software "${name}"`;
    if (version !== 'any' && has !== version) return `has ${name} ${has}, needs ${version}`;
  }
  return null;
}
