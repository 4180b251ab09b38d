import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testSettings } from './settings.ts';

const defaults = {
  ...{ setupCommand: null, setupFiles: 'package.json,package-lock.json', setupNetwork: true },
  ...{ testCommand: 'npm test', testTimeout: 1_800_000, testNetwork: false },
  ...{ testReadOnlyPaths: null, testMemoryMib: 4_096, testProcesses: 512, testFileMib: 1_024 },
  testOutputMib: 64,
} as const;

const none = {
  ...{ setupCommand: null, setupFiles: null, setupNetwork: null, testCommand: null },
  ...{ testTimeout: null, testNetwork: null, testReadOnlyPaths: null, testMemoryMib: null },
  ...{ testProcesses: null, testFileMib: null, testOutputMib: null },
};

test('S-73 what [[repositories]] says goes before the general settings, one by one', () => {
  const { tests, repositories } = testSettings({
    ...defaults,
    testCommand: 'sh -c "exit 1"',
    testMemoryMib: 100,
    testReadOnlyPaths: '/opt/node, /var/cache',
    repositories: [
      { ...none, repository: '/a', setupCommand: 'npm ci', testTimeout: 5_000, testNetwork: true },
    ],
  });
  assert.deepEqual(tests.command, ['sh', '-c', 'exit 1']);
  assert.equal(tests.setUp, null);
  assert.deepEqual(tests.readOnlyPaths, ['/opt/node', '/var/cache']);
  assert.deepEqual(tests.limits, {
    ...{ timeMs: 1_800_000, memoryBytes: 104_857_600, processes: 512 },
    ...{ fileBytes: 1_073_741_824, outputBytes: 67_108_864 },
  });
  assert.deepEqual(repositories, [
    {
      ...tests,
      repository: '/a',
      hasNetwork: true,
      setUp: {
        command: ['npm', 'ci'],
        files: ['package.json', 'package-lock.json'],
        hasNetwork: true,
      },
      limits: { ...tests.limits, timeMs: 5_000 },
    },
  ]);
});

test('S-73 everything that is wrong with them is told at once, with its place', () => {
  const wrong = () =>
    testSettings({
      ...defaults,
      testCommand: ' ',
      setupFiles: '/etc/passwd',
      repositories: [
        { ...none, repository: null, testReadOnlyPaths: 'opt', testCommand: 'x', setupFiles: 'a' },
        { ...none, repository: '/b', testCommand: 'x', setupFiles: '../a' },
        { ...none, repository: '/b', testCommand: 'x', setupFiles: 'a' },
      ],
    });
  assert.throws(wrong, {
    code: 'CONFIG_INVALID',
    message: [
      'test_command: is empty',
      'setup_files: "/etc/passwd" does not lie in the repository',
      '[[repositories]] 1 repository: is missing',
      '[[repositories]] 1 test_read_only_paths: "opt" is no absolute path',
      '[[repositories]] 2 setup_files: "../a" does not lie in the repository',
      '[[repositories]] repository: "/b" is there twice',
    ].join('\n'),
  });
});
