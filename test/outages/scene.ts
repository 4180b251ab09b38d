import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, createClient } from 'capataz/client';
import { TcpProxy } from '../../packages/capataz/src/bus/fixtures/tcp-proxy.ts';
import { delay, systemClock } from '../../packages/capataz/src/std/clock.ts';
import {
  PrivatePostgres,
  type PrivatePostgresOptions,
} from '../../packages/capataz/src/testing/private-postgres.ts';
import { Cluster, type ClusterOptions, type LogLine } from '../chaos/cluster.ts';
import { compare, startJobs, untilEnded } from '../chaos/load.ts';
import { ask, type Reply, Watch } from './watch.ts';

const lookEveryMs = 100;
const longestWaitMs = 40_000;

export interface SceneOptions {
  readonly postgres?: PrivatePostgresOptions;
  readonly cluster?: Partial<ClusterOptions>;
  readonly workers?: readonly string[];
  /** Text of the servers' capataz.toml. */
  readonly config?: string;
  /** Text of the schedules.toml beside it. */
  readonly schedules?: string;
}

/** Two servers behind one address, workers, and a PostgreSQL of their own behind a bad network. */
export class Scene {
  readonly folder: string;
  readonly postgres: PrivatePostgres;
  readonly network: TcpProxy;
  readonly cluster: Cluster;
  readonly #workers: readonly string[];
  readonly #jobs: string[] = [];
  #loads = 0;

  private constructor(
    parts: Pick<Scene, 'folder' | 'postgres' | 'network'>,
    options: SceneOptions,
  ) {
    const { cluster, workers = ['worker-1', 'worker-2'], config = '', schedules = '' } = options;
    this.folder = parts.folder;
    this.postgres = parts.postgres;
    this.network = parts.network;
    this.#workers = workers;
    const url = new URL(parts.postgres.url);
    url.port = String(parts.network.port);
    const shared = { folder: parts.folder, storeUrl: url.href, servers: 2 };
    const file = join(parts.folder, 'capataz.toml');
    writeFileSync(file, `schedules = "schedules.toml"\n${config}`);
    writeFileSync(join(parts.folder, 'schedules.toml'), schedules);
    const withConfig = { arguments: ['--config', file] };
    this.cluster = new Cluster({ ...shared, logLevel: 'info', ...withConfig, ...cluster });
  }

  static async open(options: SceneOptions = {}): Promise<Scene> {
    const folder = await mkdtemp(join(tmpdir(), 'capataz-outages-'));
    const postgres = await PrivatePostgres.open(options.postgres);
    const network = await TcpProxy.open(postgres);
    const scene = new Scene({ folder, postgres, network }, options);
    try {
      await scene.cluster.start();
      for (const name of scene.cluster.servers)
        assert.ok(scene.cluster.isUp(name), `${name} did not start`);
      for (const name of scene.#workers) scene.cluster.startWorker(name);
    } catch (error) {
      await scene.close();
      throw error;
    }
    return scene;
  }

  async close(): Promise<void> {
    this.network.pass();
    await this.cluster.stop();
    await this.network.close();
    await this.postgres.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  get client(): Client {
    return createClient({ url: this.cluster.url });
  }

  get effects(): string {
    return join(this.folder, 'effects');
  }

  /** Starts jobs until it is told to stop. */
  load(): { stop(): Promise<void> } {
    const stopping = new AbortController();
    this.#loads += 1;
    const name = `load-${this.#loads}`;
    const load = { log: this.effects, signal: stopping.signal, pauseMs: 200, name };
    const started = startJobs(this.client, load);
    const stop = async (): Promise<void> => {
      stopping.abort();
      this.#jobs.push(...(await started));
    };
    return { stop };
  }

  /** One job from the start to the end. */
  async probe(): Promise<void> {
    const input = { log: this.effects, ms: 0 };
    const { jobId } = await this.client.jobs.start('chaos', input);
    this.#jobs.push(jobId);
    assert.equal((await this.client.jobs.wait(jobId)).status, 'finished');
  }

  watch(): Watch {
    return new Watch(this.#servers.map(({ url }) => url));
  }

  pids(): readonly (number | undefined)[] {
    return this.#servers.map(({ name }) => this.cluster.pidOf(name));
  }

  /** What each server has logged. */
  logs(): (readonly LogLine[])[] {
    return this.#servers.map(({ name }) => this.cluster.logOf(name));
  }

  /** Resolves when each server has said so about itself: how long that took, in ms. */
  async untilReady(isReady: boolean): Promise<number> {
    const began = systemClock.steady();
    const wanted = isReady ? 200 : 503;
    for (const { name, url } of this.#servers) {
      while ((await ask(`${url}/_public/ready`)).status !== wanted) {
        const waitedMs = systemClock.steady() - began;
        assert.ok(waitedMs < longestWaitMs, `${name} does not say ${wanted} when asked if ready`);
        await delay(systemClock, lookEveryMs);
      }
    }
    return systemClock.steady() - began;
  }

  /** What each server answers to somebody who wants to start a job; one that it takes counts. */
  async orders(): Promise<Reply[]> {
    const body = JSON.stringify({ initial_data: { log: this.effects, ms: 0 } });
    const headers = { 'content-type': 'application/json' };
    const replies = await Promise.all(
      this.#servers.map(({ url }) =>
        ask(`${url}/api/v1/jobs/chaos`, { method: 'POST', headers, body }, 20_000),
      ),
    );
    for (const { status, body } of replies)
      if (status === 202) this.#jobs.push(String(JSON.parse(body).job_id));
    return replies;
  }

  /** Everything that was accepted ends, and what the workers did is what the book says. */
  async settle(): Promise<string[]> {
    const stuck = await untilEnded(this.client, this.#jobs);
    return [...stuck, ...(await compare(this.client, this.#jobs, this.effects))];
  }

  get #servers(): { readonly name: string; readonly url: string }[] {
    return this.cluster.servers.map((name) => ({ name, url: this.cluster.urlOf(name) }));
  }
}
