import type { Alerts } from './alerts/contract.ts';
import { unhurried } from './alerts/unhurried.ts';
import { Callbacks } from './callbacks/callbacks.ts';
import { CallbackListener } from './callbacks/listener.ts';
import { watchClocks } from './cycles/clock-watch.ts';
import { Connections } from './cycles/connections.ts';
import { Deployer, type DeployResult } from './cycles/deployer.ts';
import { LookUps } from './cycles/look-ups.ts';
import { type ReconcileResult, Reconciler } from './cycles/reconciler.ts';
import { Stops } from './cycles/stops.ts';
import { Synchronizer, type SyncResult } from './cycles/synchronizer.ts';
import type { LauncherWorld } from './cycles/world.ts';
import { type CycleName, countCycle } from './tables/cycles.ts';
import { ping } from './tables/database.ts';

/** The launcher beside its server: three cycles that know nothing of each other, and the callbacks. */
export class Launcher {
  readonly world: LauncherWorld;
  readonly deployer: Deployer;
  readonly callbacks: Callbacks;
  readonly #reconciler: Reconciler;
  readonly #synchronizer: Synchronizer;
  readonly #listener: CallbackListener | null;
  /** Where callbacks are taken, once they are. */
  callbackAddress: string | null = null;

  constructor(given: LauncherWorld) {
    const world = { ...given, alerts: unhurried(given.alerts) };
    this.world = world;
    const forModule = (name: string): LauncherWorld => ({
      ...world,
      log: world.log.child({ module: `lanzador.${name}` }),
    });
    const deploying = forModule('desplegador');
    this.deployer = new Deployer(deploying, {
      connections: new Connections(deploying),
      lookUps: new LookUps(deploying),
      stops: new Stops(deploying),
    });
    this.#reconciler = new Reconciler(forModule('conciliador'));
    this.#synchronizer = new Synchronizer(forModule('sincronizador'));
    this.callbacks = new Callbacks(forModule('callback'));
    const { settings, log } = world;
    const { callbackHost: host, callbackPort: port, callbackPath: path } = settings;
    this.#listener =
      world.callbacks === null
        ? null
        : new CallbackListener({ host, port, path, callbacks: this.callbacks, log });
  }

  /** Requests to the own server are under way: a test that moves the time waits for them. */
  get isBusy(): boolean {
    return this.world.executions.isBusy;
  }

  async listen(): Promise<void> {
    if (this.#listener === null) return;
    this.callbackAddress = await this.#listener.listen();
    this.world.log.info('callbacks are taken', { at: this.callbackAddress });
  }

  async close(): Promise<void> {
    await this.#listener?.close();
    await this.world.controlRoom.close();
    await this.world.alerts.close();
  }

  deploy(signal: AbortSignal): Promise<DeployResult | null> {
    return this.#cycle('desplegador', () => this.deployer.run(signal));
  }

  reconcile(): Promise<ReconcileResult | null> {
    return this.#cycle('conciliador', async () => {
      const result = await this.#reconciler.run();
      await watchClocks(this.world);
      return result;
    });
  }

  synchronize(): Promise<SyncResult | null> {
    return this.#cycle('sincronizador', () => this.#synchronizer.run());
  }

  /** A cycle that fails is told; the next one comes all the same, and the others know nothing of it (L-4). */
  async #cycle<R extends { readonly [K in keyof R]: number | boolean }>(
    name: CycleName,
    work: () => Promise<R>,
  ): Promise<R | null> {
    const { clock, db, alerts, isOnTurn } = this.world;
    const log = this.world.log.child({ module: `lanzador.${name}` });
    if (!isOnTurn()) return null;
    const begun = clock.now();
    try {
      const result = await work();
      await countCycle(db, name, { begun, ended: clock.now(), result: JSON.stringify(result) });
      await alerts.clear('cycle_failed', name);
      await alerts.clear('database_down', 'database');
      log.info(`Fin de ciclo ${name}`, { ...result });
      return result;
    } catch (error) {
      log.error(`El ciclo ${name} ha fallado`, { error, critical: true });
      await tellFailure(alerts, name, error, await isDown(() => ping(this.world)));
      return null;
    }
  }
}

async function isDown(ask: () => Promise<void>): Promise<boolean> {
  try {
    await ask();
    return false;
  } catch {
    return true;
  }
}

async function tellFailure(
  alerts: Alerts,
  name: CycleName,
  error: unknown,
  isDatabaseDown: boolean,
): Promise<void> {
  const text = error instanceof Error ? error.message : String(error);
  const message = `the cycle ${name} failed: ${text}`;
  if (isDatabaseDown) await alerts.raise({ kind: 'database_down', key: 'database', message });
  else await alerts.raise({ kind: 'cycle_failed', key: name, message });
}
