import { once } from 'node:events';
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Figure } from './figures.ts';

const measureMs = 1_500;

/** What the machine itself can do, in the same run, so that ratios can be formed. */
export async function limits(): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'capataz-bench-limits-'));
  try {
    return [
      figure('fsync of 4 KiB', fsyncs(folder), '1/s'),
      figure('SQLite commits of 1 row, full sync', sqliteRows(folder, 1), 'rows/s'),
      figure('SQLite commits of 100 rows, full sync', sqliteRows(folder, 100), 'rows/s'),
      figure('HTTP round trips, one connection', await roundTrips(), '1/s'),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function figure(what: string, value: number, unit: string): Figure {
  return { workload: 'limits', params: { what }, value, unit };
}

function perSecond(step: () => number): number {
  const start = performance.now();
  let count = 0;
  while (performance.now() - start < measureMs) count += step();
  return count / ((performance.now() - start) / 1_000);
}

function fsyncs(folder: string): number {
  const file = openSync(join(folder, 'sync'), 'w');
  const block = Buffer.alloc(4_096, 1);
  const rate = perSecond(() => {
    writeSync(file, block, 0, block.length, 0);
    fdatasyncSync(file);
    return 1;
  });
  closeSync(file);
  return rate;
}

function sqliteRows(folder: string, batch: number): number {
  const db = new DatabaseSync(join(folder, `rows-${batch}.db`));
  db.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)',
  );
  const insert = db.prepare('INSERT INTO rows (text) VALUES (?)');
  const text = 'x'.repeat(200);
  const rate = perSecond(() => {
    db.exec('BEGIN');
    for (let row = 0; row < batch; row += 1) insert.run(text);
    db.exec('COMMIT');
    return batch;
  });
  db.close();
  return rate;
}

async function roundTrips(): Promise<number> {
  const server = createServer((_, response) => response.end('{}'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const start = performance.now();
  let count = 0;
  for (; performance.now() - start < measureMs; count += 1) await roundTrip(port, agent);
  const rate = count / ((performance.now() - start) / 1_000);
  agent.destroy();
  server.close();
  return rate;
}

function roundTrip(port: number, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', agent, method: 'POST' }, (response) => {
      response.resume();
      response.once('end', resolve);
    })
      .once('error', reject)
      .end('{"n":1}');
  });
}
