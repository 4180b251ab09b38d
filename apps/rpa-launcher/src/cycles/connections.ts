import { ControlRoomError } from '../control-room/contract.ts';
import { hostOf } from '../execution/record.ts';
import { notConnected, type Verdict } from '../planning/plan.ts';
import type { LauncherWorld } from './world.ts';

const everyMs = 60_000;

/**
 * Between two synchronisations devices come and go. Where something due waits for a device that was
 * away, the Control Room is asked again, at most once a minute (LH-17).
 */
export class Connections {
  readonly #world: LauncherWorld;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(world: LauncherWorld) {
    this.#world = world;
  }

  /** @returns whether a device has come back */
  async refresh(waits: readonly Verdict[]): Promise<boolean> {
    const { settings, controlRoom, db, clock, log } = this.#world;
    const wanted = waits.some(({ reason }) => reason.startsWith(notConnected));
    if (!wanted || !settings.isSyncEnabled || clock.steady() - this.#askedAt < everyMs)
      return false;
    this.#askedAt = clock.steady();
    try {
      const devices = await controlRoom.devices();
      const connected = new Map(devices.map((one) => [hostOf(one.hostName), one]));
      const away = await db
        .selectFrom('Equipos')
        .select(['EquipoId', 'Equipo'])
        .where('Conectado', '=', 0)
        .execute();
      const back = away.filter(({ Equipo, EquipoId }) => {
        const device = connected.get(hostOf(Equipo));
        return device?.isConnected === true && device.deviceId === EquipoId;
      });
      if (back.length === 0) return false;
      const ids = back.map(({ EquipoId }) => EquipoId);
      await db
        .updateTable('Equipos')
        .set({ Conectado: 1, EstadoA360: 'CONNECTED', Ausencias: 0 })
        .where('EquipoId', 'in', ids)
        .execute();
      return true;
    } catch (error) {
      if (!(error instanceof ControlRoomError)) throw error;
      log.warn('devices could not be read: what waits for one goes on waiting', { error });
      return false;
    }
  }
}
