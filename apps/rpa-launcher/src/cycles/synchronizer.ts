import { runnersOf } from '../control-room/runners.ts';
import { deviceChanges, mergeDevices } from '../tables/merge-devices.ts';
import { mergeRobots } from '../tables/merge-robots.ts';
import type { LauncherWorld } from './world.ts';

export interface SyncResult {
  readonly robots: number;
  readonly devices: number;
  readonly changed: number;
}

/** Fewer changes than these are everyday life, also where there are but a few devices. */
const fewChanges = 3;

/** One synchronisation of robots and devices (spec 3.1). All lists are read whole before anything is written. */
export class Synchronizer {
  readonly #world: LauncherWorld;

  constructor(world: LauncherWorld) {
    this.#world = world;
  }

  async run(): Promise<SyncResult> {
    const { controlRoom, settings, db, log } = this.#world;
    const [robots, devices, users] = await Promise.all([
      controlRoom.robots(),
      controlRoom.devices(),
      controlRoom.users(),
    ]);
    const runners = runnersOf(devices, users, settings.runnerLicenses);
    if (robots.length === 0)
      log.warn('the Control Room lists no robots: they are left as they are');
    if (runners.length === 0)
      log.warn('the Control Room lists no devices: they are left as they are');
    const none = { added: 0, changed: 0 };
    const ofRobots = robots.length === 0 ? none : await mergeRobots(db, robots);
    const mayMerge = runners.length > 0 && (await this.#isCredible(runners));
    const ofDevices = mayMerge
      ? await mergeDevices(db, runners, { absencesAllowed: settings.syncAbsences })
      : { ...none, absent: 0 };
    const { added, changed, absent } = ofDevices;
    log.info(
      `Sincronización: ${robots.length} robots (${ofRobots.added} nuevos, ${ofRobots.changed} cambiados), ${runners.length} equipos (${added} nuevos, ${changed} cambiados, ${absent} ausentes)`,
    );
    return {
      robots: robots.length,
      devices: runners.length,
      changed: ofRobots.added + ofRobots.changed + added + changed,
    };
  }

  /** A list that changes most of what is known is more likely wrong than true (LH-16). */
  async #isCredible(runners: Parameters<typeof deviceChanges>[1]): Promise<boolean> {
    const { db, settings, alerts, log } = this.#world;
    const rows = await db.selectFrom('Equipos').selectAll().execute();
    const { renewed, missing } = deviceChanges(rows, runners);
    const isNew = missing.filter(({ Ausencias }) => Ausencias === 0);
    const changes = renewed.length + isNew.length;
    const percent = rows.length === 0 ? 0 : (100 * changes) / rows.length;
    if (changes <= fewChanges || percent <= settings.maxSyncChangePercent) {
      await alerts.clear('sync_refused', 'devices');
      return true;
    }
    const message = `the Control Room would change ${changes} of ${rows.length} devices: none is changed`;
    log.error(message);
    await alerts.raise({
      kind: 'sync_refused',
      key: 'devices',
      message,
      facts: { equipos: rows.length, 'ids nuevos': renewed.length, ausentes: isNew.length },
    });
    return false;
  }
}
