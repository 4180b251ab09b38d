import { canonicalJson, isJsonObject, type JsonValue } from '../std/json.ts';

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
  readonly notDuring?: string;
}

export function taskClass({
  client,
  skill,
  requirements,
  maxCost,
  notDuring,
}: Omit<TaskClass, 'key'>): TaskClass {
  const kept = notDuring === undefined ? [] : [notDuring];
  return {
    key: canonicalJson([client, skill, requirements, maxCost, ...kept]),
    client,
    skill,
    requirements,
    maxCost,
    ...(notDuring === undefined ? {} : { notDuring }),
  };
}

/** The class that has this key. */
export function taskClassOf(key: string): TaskClass {
  const [client, skill, requirements, maxCost, ...kept] = JSON.parse(key) as [
    string,
    string,
    Requirements,
    number | null,
    string?,
  ];
  const [notDuring] = kept;
  const rest = notDuring === undefined ? {} : { notDuring };
  return { key, client, skill, requirements, maxCost, ...rest };
}

/**
 * Requirements are often built from a job's input, and a shape that is none must fail the handler
 * that asks, not the hand-out to everybody else.
 * @returns what is wrong with the shape, or null.
 */
export function requirementsProblem(asked: Readonly<Record<string, unknown>>): string | null {
  for (const [name, value] of Object.entries(asked)) {
    if (!Object.hasOwn(shapes, name)) return `member ${name} is unknown`;
    // hasOwn says that it is one of them.
    const shape = shapes[name as keyof Requirements];
    if (!shape.fits(value)) return `member ${name} is not ${shape.text}`;
  }
  return null;
}

interface Shape {
  readonly text: string;
  readonly fits: (value: unknown) => boolean;
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isTextOrNone = (value: unknown): boolean => value === undefined || isText(value);

const anObject: Shape = { text: 'an object', fits: isJsonObject };

const shapes: Readonly<Record<keyof Requirements, Shape>> = {
  devices: {
    text: 'a list of { type, model, properties }',
    fits: (value) => Array.isArray(value) && value.every(isDeviceRequirement),
  },
  properties: anObject,
  artifacts: {
    text: 'a list of { name, version }',
    fits: (value) =>
      Array.isArray(value) &&
      value.every((item) => isJsonObject(item) && isText(item.name) && isTextOrNone(item.version)),
  },
  software: {
    text: 'an object of versions',
    fits: (value) => isJsonObject(value) && Object.values(value).every(isText),
  },
  extra: anObject,
  worker: { text: 'the id of a worker', fits: isText },
};

function isDeviceRequirement(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { type, model, properties } = value;
  const hasProperties = properties === undefined || isJsonObject(properties);
  return isTextOrNone(type) && isTextOrNone(model) && hasProperties;
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

/**
 * Each requirement needs a device of its own. Exact by augmenting paths: a device that is taken is
 * given up where its holder finds another. Greedy picking turns suitable workers away, and trying
 * all assignments explodes with a dozen equal devices.
 */
function devicesMisfit(
  asked: readonly DeviceRequirement[],
  offered: readonly OfferedDevice[],
): string | null {
  const holders = new Map<number, DeviceRequirement>();
  const place = (device: DeviceRequirement, tried: Set<number>): boolean => {
    for (const [index, candidate] of offered.entries()) {
      if (tried.has(index) || !deviceFits(device, candidate)) continue;
      tried.add(index);
      const holder = holders.get(index);
      if (holder === undefined || place(holder, tried)) {
        holders.set(index, device);
        return true;
      }
    }
    return false;
  };
  const left = asked.find((device) => !place(device, new Set()));
  return left === undefined ? null : `has no free device that meets ${canonicalJson(left)}`;
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
      const found = has === undefined ? 'missing' : canonicalJson(has);
      return `${kind} ${name} is ${found}, needs ${describe(value)}`;
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
