import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { z } from 'zod';
import { CapatazError } from '../../protocol/errors.ts';
import type { JsonValue } from '../../std/json.ts';
import * as schemas from '../docs/worker-schemas.ts';
import { parseHeartbeat } from './heartbeat.ts';
import { parseRegistration } from './registration.ts';
import { parseResult, parseResults } from './results.ts';
import { parseWorkerEvent } from './worker-event.ts';

function accepts(parse: (body: JsonValue) => unknown, body: JsonValue): boolean {
  try {
    parse(body);
    return true;
  } catch (error) {
    assert.ok(error instanceof CapatazError, String(error));
    assert.equal(error.code, 'VALIDATION_FAILED');
    return false;
  }
}

/** Values of every kind but null, which counts as absent for the parsers alone. */
const value: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom<JsonValue>('', 'x', 'started', 0, 1, -1, 1.5, 200, true, [], {}, ['a'], [1]),
  fc.constantFrom<JsonValue>([{}], [{ name: 'n' }], [{ name: 1 }], { name: 'n' }, { a: 1 }),
);

function bodies(names: readonly string[]): fc.Arbitrary<JsonValue> {
  const members = Object.fromEntries(names.map((name) => [name, value]));
  return fc.record(members, { requiredKeys: [] }) as fc.Arbitrary<JsonValue>;
}

/** Every body has to be judged alike by what is documented and by what runs. */
function assertAgreement(
  schema: z.ZodType,
  parse: (body: JsonValue) => unknown,
  names: readonly string[],
): void {
  fc.assert(
    fc.property(bodies(names), (body) => {
      assert.equal(accepts(parse, body), schema.safeParse(body).success, JSON.stringify(body));
    }),
    { numRuns: 500 },
  );
}

test('the parsers of the worker routes accept exactly what the document says', () => {
  const result = ['job_id', 'task_id', 'worker_id', 'status', 'data', 'error', 'handed_back'];
  // A hand-back carries no report, so that status and error are not looked at.
  const reported = result.filter((name) => name !== 'handed_back');
  assertAgreement(schemas.resultBody, parseResult, reported);
  assertAgreement(schemas.resultBody, parseResult, ['job_id', 'task_id', 'handed_back']);
  const heartbeat = ['worker_id', 'status', 'current_tasks', 'prefetched_tasks'];
  assertAgreement(schemas.heartbeatBody, parseHeartbeat, [
    ...heartbeat,
    'supported_skills',
    'hot_skills',
  ]);
  assertAgreement(schemas.registrationBody, parseRegistration, [
    'worker_id',
    'worker_type',
    'supported_skills',
    'hot_skills',
    'resources',
    'installed_software',
    'installed_artifacts',
    'capabilities',
  ]);
});

test('S-24: a registration gives the offer, with the defaults of RXON', () => {
  const registration = parseRegistration({
    worker_id: 'gpu-1.lan',
    supported_skills: ['a', { name: 'b', type: 'b' }],
    hot_skills: [{ name: 'a' }],
    resources: { devices: [{ type: 'gpu', id: 0 }], properties: { cpu_cores: 4 } },
    installed_artifacts: [{ name: 'llama' }],
    installed_software: { python: '3.11', cuda: 12 },
    capabilities: {
      hostname: 'lan',
      cost_per_skill: { a: 0.5 },
      extra: { websockets: true, batch: true, slots: 2, boot_id: 'boot', region: 'eu' },
    },
    some_new_member: null,
  });
  assert.deepEqual(registration, {
    id: 'gpu-1.lan',
    type: 'generic',
    bootId: 'boot',
    slots: 2,
    batch: true,
    heartbeatMs: 15_000,
    hostname: 'lan',
    offer: {
      worker: 'gpu-1.lan',
      skills: ['a', 'b'],
      hotSkills: ['a'],
      devices: [{ type: 'gpu', model: '', properties: {} }],
      properties: { cpu_cores: 4 },
      artifacts: [{ name: 'llama', version: 'unknown' }],
      software: { python: '3.11', cuda: '12' },
      extra: { websockets: true, region: 'eu' },
      costPerSkill: { a: 0.5 },
    },
  });
});

test('a registration names everything that is wrong with it', () => {
  assert.throws(
    () =>
      parseRegistration({
        worker_id: 'a b',
        capabilities: { extra: { slots: 0, batch: 'yes' }, cost_per_skill: { a: '1' } },
        resources: { devices: [{ type: 1 }] },
      }),
    (error: CapatazError) => {
      const { problems } = error.details as unknown as { problems: { path: string }[] };
      assert.deepEqual(
        problems.map(({ path }) => path),
        [
          'worker_id',
          'capabilities.extra.slots',
          'capabilities.extra.batch',
          'supported_skills',
          'resources.devices[0].type',
          'capabilities.cost_per_skill.a',
        ],
      );
      return true;
    },
  );
});

test('S-24: absent current_tasks are unknown, [] is nothing, and a farewell keeps the skills', () => {
  assert.deepEqual(parseHeartbeat({ status: 'idle', current_tasks: null }).beat, {
    status: 'idle',
  });
  assert.deepEqual(parseHeartbeat({ current_tasks: [] }).beat, { currentTasks: [] });
  const farewell = parseHeartbeat({ status: 'offline', supported_skills: [] });
  assert.deepEqual(farewell.beat, { status: 'offline' });
  assert.deepEqual(parseHeartbeat({ status: 'idle', supported_skills: [] }).beat.skills, []);
});

test('a result is a report, an error with the default code, or a hand-back', () => {
  const ids = { job_id: 'j', task_id: 't' };
  const reportOf = (body: object) => parseResult({ ...ids, ...body }).report.report;
  assert.deepEqual(reportOf({}), {});
  assert.deepEqual(reportOf({ status: 'done', data: [1], error: null }), {
    status: 'done',
    data: [1],
  });
  assert.deepEqual(reportOf({ error: {} }), { error: { code: 'TRANSIENT_ERROR', message: '' } });
  assert.deepEqual(reportOf({ handed_back: 'not_started' }), { handedBack: 'not_started' });
  assert.throws(() => parseResults({ results: new Array(3).fill(ids) }, 2), /at most 2 members/);
});

test('progress needs a job and an attempt, other events need nothing', () => {
  assert.throws(
    () => parseWorkerEvent({ event_type: 'progress' }),
    /target_task_id.*target_job_id/,
  );
  assert.deepEqual(parseWorkerEvent({ event_type: 'model_loaded' }), {
    type: 'other',
    worker: undefined,
    name: 'model_loaded',
  });
});
