import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { durationMs } from 'capataz';
import { createClient } from 'capataz/client';
import { digestFolder } from './digest.ts';
import { Server, startWorker, stopChild } from './processes.ts';
import { reportText, summary } from './report.ts';

/** `npm run demo -- [folder] [--keep] [--pace 50ms]` */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    keep: { type: 'boolean', default: false },
    pace: { type: 'string', default: '0ms' },
  },
});

const documentation = fileURLToPath(new URL('../../docs', import.meta.url));
const workerIds = ['digest-1', 'digest-2', 'digest-3'];
const paceMs = durationMs(values.pace);

const place = await mkdtemp(join(tmpdir(), 'capataz-demo-'));
const dataDir = join(place, 'data');
const say = (line: string): void => console.log(line);
const server = new Server(dataDir, say);
await server.start();
say(`server   ${server.url}  (pid ${server.pid}, data in ${dataDir})`);
const workers = workerIds.map((id) => startWorker(server.url, id));
for (const [index, worker] of workers.entries())
  say(`worker   ${workerIds[index]}  (pid ${worker.pid})`);

try {
  const client = createClient({ url: server.url });
  const report = await digestFolder(client, {
    folder: positionals[0] ?? documentation,
    paceMs,
    onProgress: showProgress(),
  });
  const path = join(place, 'report.md');
  await writeFile(path, reportText(report));
  say(`\n${reportText(report)}`);
  say(summary(report.digests));
  say(`report   ${path}`);
  if (values.keep) {
    say(`the server stays up at ${server.url} until you press Ctrl+C`);
    await new Promise((resolve) => process.once('SIGINT', resolve));
  }
} finally {
  await Promise.all(workers.map(stopChild));
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
}

/** One line that is written over on a terminal, every tenth of the way elsewhere. */
function showProgress(): (done: number, total: number) => void {
  let shown = -1;
  return (done, total) => {
    const tenth = total === 0 ? 10 : Math.floor((10 * done) / total);
    if (process.stdout.isTTY) process.stdout.write(`\r${done} of ${total} files`);
    else if (tenth !== shown) say(`${done} of ${total} files`);
    shown = tenth;
  };
}
