import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { aSpec } from './fixtures.ts';
import {
  type DeviceRequirement,
  misfit,
  type Offer,
  type OfferedDevice,
  type Requirements,
  requirementsProblem,
  taskClass,
  taskClassOf,
} from './requirements.ts';

const gpu: OfferedDevice = {
  type: 'gpu',
  model: 'NVIDIA RTX 4090',
  properties: { vram_gb: 24, features: ['cuda', 'nvenc'] },
};

const offer: Offer = {
  worker: 'worker-1',
  skills: ['echo', 'draw'],
  hotSkills: [],
  devices: [gpu, { type: 'cpu', model: 'EPYC', properties: {} }],
  properties: { ram_gb: 64, zones: ['north', 'east'], secure: true },
  artifacts: [
    { name: 'llama', version: '3.1' },
    { name: 'llama', version: '3.2' },
    { name: 'sdxl', version: 'unknown' },
  ],
  software: { python: '3.11', ffmpeg: '7.0' },
  extra: { tier: 'gold' },
  costPerSkill: { echo: 2 },
};

function judge(requirements: Requirements, maxCost: number | null = null, skill = 'echo') {
  return misfit(taskClass(aSpec({ requirements, maxCost, skill })), offer);
}

test('A-26 without requirements the skill alone decides', () => {
  assert.equal(judge({}), null);
  assert.equal(judge({}, null, 'sing'), 'has no skill "sing"');
});

const fitting: readonly [kind: string, Requirements][] = [
  ['the worker itself', { worker: 'worker-1' }],
  ['a device by type', { devices: [{ type: 'gpu' }] }],
  ['a device by part of its model, letter case aside', { devices: [{ model: 'rtx 4090' }] }],
  ['VRAM at least', { devices: [{ properties: { vram_gb: 24 } }] }],
  ['a device’s list by overlap', { devices: [{ properties: { features: ['rocm', 'cuda'] } }] }],
  ['two different devices', { devices: [{ type: 'cpu' }, { type: 'gpu' }] }],
  ['a number at least', { properties: { ram_gb: 64 } }],
  ['a list by overlap', { properties: { zones: ['west', 'east'] } }],
  ['one value among a list', { properties: { secure: [true] } }],
  ['another value by equality', { properties: { secure: true } }],
  ['an artifact by name', { artifacts: [{ name: 'llama' }] }],
  ['an artifact by name and version', { artifacts: [{ name: 'llama', version: '3.2' }] }],
  ['software of any version', { software: { python: 'any' } }],
  ['software by version', { software: { python: '3.11', ffmpeg: '7.0' } }],
  ['an extra capability', { extra: { tier: 'gold' } }],
];

for (const [kind, requirements] of fitting) {
  test(`A-26 fits: ${kind}`, () => assert.equal(judge(requirements), null));
}

const unfit: readonly [Requirements, string][] = [
  [{ worker: 'worker-2' }, 'is not the worker "worker-2" that the task is for'],
  [{ devices: [{ type: 'tpu' }] }, 'has no free device that meets {"type":"tpu"}'],
  [{ devices: [{ model: 'A100' }] }, 'has no free device that meets {"model":"A100"}'],
  [
    { devices: [{ type: 'gpu', properties: { vram_gb: 25 } }] },
    'has no free device that meets {"properties":{"vram_gb":25},"type":"gpu"}',
  ],
  [{ devices: [{ type: 'gpu' }, { type: 'gpu' }] }, 'has no free device that meets {"type":"gpu"}'],
  [{ properties: { ram_gb: 65 } }, 'property ram_gb is 64, needs at least 65'],
  [{ properties: { disk_gb: 1 } }, 'property disk_gb is missing, needs at least 1'],
  [{ properties: { toString: 1 } }, 'property toString is missing, needs at least 1'],
  [
    { properties: { zones: ['west'] } },
    'property zones is ["north","east"], needs one of ["west"]',
  ],
  [{ properties: { secure: false } }, 'property secure is true, needs false'],
  [{ properties: { secure: 1 } }, 'property secure is true, needs at least 1'],
  [{ artifacts: [{ name: 'gpt' }] }, 'has no artifact "gpt"'],
  [{ artifacts: [{ name: 'llama', version: '2' }] }, 'has artifact "llama" 3.1, 3.2, needs 2'],
  [{ software: { ruby: 'any' } }, 'has no software "ruby"'],
  [{ software: { python: '3.12' } }, 'has python 3.11, needs 3.12'],
  [{ extra: { tier: 'silver' } }, 'extra capability tier is "gold", needs "silver"'],
];

for (const [requirements, sentence] of unfit) {
  test(`A-26 A-31 does not fit: ${sentence}`, () => assert.equal(judge(requirements), sentence));
}

test('A-26 a limit of cost leaves out who asks more, and who does not say', () => {
  assert.equal(judge({}, 2), null);
  assert.equal(judge({}, 1.5), 'asks 2 for "echo" and the task allows at most 1.5');
  assert.equal(judge({}, 2, 'draw'), 'names no cost for "draw" and the task allows at most 2');
});

test('A-26 a device that suits two requirements is left to the one that has no other', () => {
  const small: OfferedDevice = { type: 'gpu', model: 'small', properties: { vram_gb: 8 } };
  const large: OfferedDevice = { type: 'gpu', model: 'large', properties: { vram_gb: 80 } };
  const asked: DeviceRequirement[] = [{ type: 'gpu' }, { properties: { vram_gb: 40 } }];
  for (const devices of [
    [small, large],
    [large, small],
  ]) {
    const task = taskClass(aSpec({ requirements: { devices: asked } }));
    assert.equal(misfit(task, { ...offer, devices }), null);
  }
});

/** Every way to give each requirement a device of its own. */
function canBeMet(asked: readonly number[], free: readonly number[]): boolean {
  const [first, ...rest] = asked;
  if (first === undefined) return true;
  return free.some(
    (mask, index) => (mask & first) === first && canBeMet(rest, free.toSpliced(index, 1)),
  );
}

test('A-26 devices are matched exactly: property against brute force', () => {
  const masks = fc.array(fc.nat(15), { maxLength: 5 });
  const propertiesOf = (mask: number) =>
    Object.fromEntries(
      [0, 1, 2, 3].filter((bit) => mask & (1 << bit)).map((bit) => [`p${bit}`, true]),
    );
  fc.assert(
    fc.property(masks, masks, (asked, offered) => {
      const requirements = { devices: asked.map((mask) => ({ properties: propertiesOf(mask) })) };
      const devices = offered.map((mask) => ({
        type: 'd',
        model: 'm',
        properties: propertiesOf(mask),
      }));
      const task = taskClass(aSpec({ requirements }));
      assert.equal(misfit(task, { ...offer, devices }) === null, canBeMet(asked, offered));
    }),
    { numRuns: 2_000 },
  );
});

test('A-26 many equal devices cost no explosion', () => {
  const devices = Array.from({ length: 64 }, () => gpu);
  const asked = Array.from({ length: 65 }, () => ({ type: 'gpu' }));
  const task = taskClass(aSpec({ requirements: { devices: asked } }));
  assert.equal(misfit(task, { ...offer, devices }), 'has no free device that meets {"type":"gpu"}');
});

test('S-42 a class is client, skill, requirements and limit of cost, whatever the order of keys', () => {
  const keyOf = (fields: Parameters<typeof aSpec>[0]) => taskClass(aSpec(fields)).key;
  const base = keyOf({ requirements: { properties: { a: 1, b: 2 } } });
  assert.equal(keyOf({ requirements: { properties: { b: 2, a: 1 } } }), base);
  assert.equal(keyOf({ requirements: { properties: { a: 1, b: 2 } }, priority: 9 }), base);
  const others = [
    keyOf({ requirements: { properties: { a: 1, b: 3 } } }),
    keyOf({ requirements: { properties: { a: 1, b: 2 } }, skill: 'draw' }),
    keyOf({ requirements: { properties: { a: 1, b: 2 } }, client: 'client-2' }),
    keyOf({ requirements: { properties: { a: 1, b: 2 } }, maxCost: 1 }),
  ];
  assert.equal(new Set([base, ...others]).size, 5);
});

test('requirements of another shape are told apart from what can be judged', () => {
  for (const [, requirements] of fitting) {
    assert.equal(requirementsProblem({ ...requirements }), null);
  }
  const broken: readonly [Record<string, unknown>, string][] = [
    [{ devices: {} }, 'member devices is not a list of { type, model, properties }'],
    [{ devices: ['gpu'] }, 'member devices is not a list of { type, model, properties }'],
    [{ devices: [{ model: 7 }] }, 'member devices is not a list of { type, model, properties }'],
    [{ properties: [] }, 'member properties is not an object'],
    [{ artifacts: [{ version: '1' }] }, 'member artifacts is not a list of { name, version }'],
    [{ software: { python: 3 } }, 'member software is not an object of versions'],
    [{ extra: null }, 'member extra is not an object'],
    [{ worker: 7 }, 'member worker is not the id of a worker'],
    [{ toString: 1 }, 'member toString is unknown'],
  ];
  for (const [requirements, problem] of broken) {
    assert.equal(requirementsProblem(requirements), problem);
  }
});

test('requirements that pass the check of their shape can be judged, whatever they hold', () => {
  fc.assert(
    fc.property(
      fc.record(
        {
          devices: fc.anything(),
          properties: fc.anything(),
          artifacts: fc.anything(),
          software: fc.anything(),
          extra: fc.anything(),
          worker: fc.anything(),
        },
        { requiredKeys: [] },
      ),
      (value) => {
        const text = JSON.stringify(value, (_key, member) =>
          typeof member === 'bigint' ? String(member) : member,
        );
        const requirements = JSON.parse(text) as Requirements;
        if (requirementsProblem({ ...requirements }) !== null) return;
        const verdict = judge(requirements);
        assert.ok(verdict === null || typeof verdict === 'string');
      },
    ),
  );
});

test('a class is read from its key', () => {
  const requirements = { worker: 'w1' };
  for (const notDuring of [{}, { notDuring: 'night' }]) {
    const made = taskClass({ client: 'c', skill: 's', requirements, maxCost: 3, ...notDuring });
    assert.deepEqual(taskClassOf(made.key), made);
  }
});
