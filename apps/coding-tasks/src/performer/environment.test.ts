import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutOwnSettings } from './environment.ts';

test('agents and tests see none of the service’s own settings, tokens among them', () => {
  const environment = {
    ...{ PATH: '/bin', ANTHROPIC_API_KEY: 'for the agent', CAPATAZ_TEST_RUN: '1' },
    ...{ CAPATAZ_GITHUB_TOKEN: 'secret', CAPATAZ_CODING_BUS_URL: 'amqp://u:p@h', GONE: undefined },
  };
  assert.deepEqual(withoutOwnSettings(environment), {
    ...{ PATH: '/bin', ANTHROPIC_API_KEY: 'for the agent', CAPATAZ_TEST_RUN: '1' },
  });
});
