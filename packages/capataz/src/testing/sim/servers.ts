import type { Engine } from '../../engine/engine.ts';
import type { SimProcess } from './process.ts';
import type { ServerBus } from './server-bus.ts';

export interface Server {
  readonly engine: Engine;
  readonly process: SimProcess;
  readonly bus: ServerBus;
}

/** The servers of a world, each in its place, from which it may be missing. Requests go to one after the other. */
export class Servers {
  readonly #places: (Server | null)[];
  #turn = 0;

  constructor(count: number) {
    this.#places = Array.from({ length: count }, () => null);
  }

  /** Places that are empty. */
  get missing(): number[] {
    return this.#places.flatMap((server, place) => (server === null ? [place] : []));
  }

  get up(): Server[] {
    return this.#places.filter((server) => server !== null);
  }

  put(place: number, server: Server): void {
    this.#places[place] = server;
  }

  /** @returns whether it was there. */
  remove(server: Server): boolean {
    const place = this.#places.indexOf(server);
    if (place === -1) return false;
    this.#places[place] = null;
    return true;
  }

  /** The one in this place, else whichever is next. */
  at(place: number): Server | null {
    return this.#places[place] ?? this.next();
  }

  /** Whichever is next, as behind a balancer that knows nothing of them. */
  next(isMeant: (server: Server) => boolean = () => true): Server | null {
    const up = this.up.filter(isMeant);
    this.#turn += 1;
    return up[this.#turn % up.length] ?? null;
  }
}
