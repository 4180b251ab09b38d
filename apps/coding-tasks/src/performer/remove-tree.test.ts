import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync } from 'node:fs';
import { test } from 'node:test';
import { Place } from './fixtures/place.ts';

test('folders whose rights were taken away are removed all the same, and links are not followed', () => {
  using place = new Place();
  chmodSync(place.folder, 0o777);
  const kept = place.write('kept/file.txt', 'kept');
  const module = new URL('./remove-tree.ts', import.meta.url).href;
  const script = `
    import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
    const { removeTree } = await import(${JSON.stringify(module)});
    mkdirSync('tree/a/b', { recursive: true });
    writeFileSync('tree/a/b/file', 'x');
    symlinkSync(${JSON.stringify(place.path('kept'))}, 'tree/a/link');
    chmodSync('tree/a/b', 0);
    chmodSync('tree/a', 0o500);
    removeTree('tree');
    removeTree('nothing');`;
  // Nobody stops root, so that it is somebody else who tries.
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const args = [...process.execArgv, '--input-type=module', '-e', script];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: place.folder, ...user });
  assert.equal(status, 0, String(stderr));
  assert.deepEqual([existsSync(place.path('tree')), existsSync(kept)], [false, true]);
});
