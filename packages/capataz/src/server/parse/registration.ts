import type { OfferedDevice } from '../../core/requirements.ts';
import type { WorkerRecord } from '../../core/worker.ts';
import type { JsonObject, JsonValue } from '../../std/json.ts';
import { Fields } from './fields.ts';
import { skillNames } from './skills.ts';

/** What a registration says; the engine adds the rest. */
export type Registration = Omit<WorkerRecord, 'incarnation' | 'registeredAt' | 'status'>;

/** RXON's interval, for workers that name none (S-24). */
const rxonHeartbeatMs = 15_000;

/** RXON allows letters, digits, `_` and `-`; ours are made of host names, so `.`, `:` and `@` too. */
const workerId = /^[A-Za-z0-9_.:@-]{1,200}$/;

/** Members of `capabilities.extra` that are about the wire and not about what the worker can do. */
const wireExtras = new Set(['boot_id', 'heartbeat_interval_ms', 'slots', 'batch']);

/** @throws VALIDATION_FAILED */
export function parseRegistration(body: JsonValue | undefined): Registration {
  return Fields.readAll(body, (fields) => {
    const id = fields.requiredString('worker_id');
    if (id !== '' && !workerId.test(id)) {
      fields.refuse('worker_id', 'must be letters, digits, "_", "-", ".", ":" and "@"');
    }
    const capabilities = fields.fields('capabilities');
    const extra = capabilities.fields('extra');
    return {
      id,
      type: fields.string('worker_type', 200) ?? 'generic',
      bootId: extra.string('boot_id', 200) ?? null,
      slots: extra.integer('slots', { min: 1, max: 10_000 }) ?? null,
      batch: extra.boolean('batch') ?? false,
      heartbeatMs:
        extra.integer('heartbeat_interval_ms', { min: 100, max: 3_600_000 }) ?? rxonHeartbeatMs,
      hostname: capabilities.string('hostname', 300) ?? null,
      offer: parseOffer(id, fields),
    };
  });
}

function parseOffer(worker: string, fields: Fields): Registration['offer'] {
  if (fields.value('supported_skills') === undefined) {
    fields.refuse('supported_skills', 'is required');
  }
  const resources = fields.fields('resources');
  const capabilities = fields.fields('capabilities');
  return {
    worker,
    skills: skillNames(fields, 'supported_skills') ?? [],
    hotSkills: skillNames(fields, 'hot_skills') ?? [],
    devices: resources.objects('devices', parseDevice) ?? [],
    properties: resources.object('properties') ?? {},
    artifacts: fields.objects('installed_artifacts', parseArtifact) ?? [],
    software: parseSoftware(fields),
    extra: withoutWireExtras(capabilities.object('extra') ?? {}),
    costPerSkill: parseCosts(capabilities),
  };
}

function parseDevice(fields: Fields): OfferedDevice {
  return {
    type: fields.string('type', 200) ?? '',
    model: fields.string('model', 200) ?? '',
    properties: fields.object('properties') ?? {},
  };
}

function parseArtifact(fields: Fields): { name: string; version: string } {
  return {
    name: fields.requiredString('name', 1_000),
    version: fields.string('version', 200) ?? 'unknown',
  };
}

function parseSoftware(fields: Fields): Record<string, string> {
  const software: Record<string, string> = {};
  for (const [name, version] of Object.entries(fields.object('installed_software') ?? {})) {
    if (typeof version === 'string') software[name] = version;
    else if (typeof version === 'number') software[name] = String(version);
    else fields.refuse(`installed_software.${name}`, 'must be a string');
  }
  return software;
}

function parseCosts(capabilities: Fields): Record<string, number> {
  const costs: Record<string, number> = {};
  for (const [skill, cost] of Object.entries(capabilities.object('cost_per_skill') ?? {})) {
    if (typeof cost === 'number') costs[skill] = cost;
    else capabilities.refuse(`cost_per_skill.${skill}`, 'must be a number');
  }
  return costs;
}

function withoutWireExtras(extra: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(extra).filter(([name]) => !wireExtras.has(name)));
}
