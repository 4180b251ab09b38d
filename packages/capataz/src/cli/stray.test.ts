import assert from 'node:assert/strict';
import { test } from 'node:test';
import { removeFolder, runIn, temporaryFolder } from './fixtures/context.ts';
import { CliProcess } from './fixtures/processes.ts';

const strayModule = `
import { blueprint, transition } from 'capataz';
export default blueprint({
  name: 'stray',
  version: 1,
  states: {
    go: {
      start: true,
      to: ['done'],
      run: async () => {
        void Promise.reject(new Error('left alone'));
        return transition('done');
      },
    },
    done: { end: true },
  },
});
`;

test('a promise that a handler left alone ends no server: it is logged, and jobs go on', async () => {
  const folder = temporaryFolder({ 'blueprints/stray.ts': strayModule });
  const serve = new CliProcess(['serve', '--port', '0'], folder);
  try {
    const url = await serve.says(/^listening on (\S+)\n/m);
    const { code, stderr } = await runIn(folder, [
      'jobs',
      'start',
      'stray',
      '--watch',
      '--url',
      url,
    ]);
    assert.equal(code, 0, stderr);
    await serve.says(/nobody waited for was rejected/, 'stderr');
    assert.match(serve.stderr, /left alone/);
    assert.equal((await fetch(`${url}/_public/ready`)).status, 200);
    assert.equal(await serve.stop(), 0, serve.stderr);
  } finally {
    if (serve.child.exitCode === null) serve.child.kill('SIGKILL');
    removeFolder(folder);
  }
});
