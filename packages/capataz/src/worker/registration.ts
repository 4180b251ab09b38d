import { hostname } from 'node:os';
import type { RegistrationBody } from '../protocol/worker-api.ts';
import type { JsonObject, JsonValue } from '../std/json.ts';
import type { WorkerOffer, WorkerSettings } from './options.ts';

/** What the worker says of itself. `bootId` names this process: under a new one the server gives up
 * what the id held before, under the same one it is still held. */
export function registrationBody(settings: WorkerSettings, bootId: string): RegistrationBody {
  const { id, skills, hotSkills, offer, concurrency, heartbeatMs, clock } = settings;
  const names = [...skills.keys()];
  return {
    worker_id: id,
    worker_type: 'capataz-node',
    supported_skills: names,
    available_skills: names,
    hot_skills: hotSkills,
    resources: resourcesOf(offer),
    installed_software: { ...offer.software },
    installed_artifacts: offer.artifacts ?? [],
    capabilities: {
      hostname: hostname(),
      cost_per_skill: { ...offer.costPerSkill },
      extra: {
        ...mutable(offer.extra),
        boot_id: bootId,
        heartbeat_interval_ms: heartbeatMs,
        slots: concurrency,
        batch: true,
      },
    },
    timestamp: Math.floor(clock.now() / 1_000),
  };
}

function resourcesOf({
  devices = [],
  properties,
}: WorkerOffer): NonNullable<RegistrationBody['resources']> {
  return {
    devices: devices.map((device) => ({ ...device, properties: mutable(device.properties) })),
    properties: mutable(properties),
  };
}

function mutable(properties: Readonly<Record<string, JsonValue>> | undefined): JsonObject {
  return { ...properties };
}
