import type { World } from './world.ts';

/** How much happened on the bus of a run: where one of them stays zero, its rules were not tried. */
export interface BusFigures {
  readonly emitted: number;
  readonly arrivedTwice: number;
  readonly deadLetters: number;
  readonly redriven: number;
  readonly resolved: number;
  readonly cuts: number;
  readonly circuitsOpened: number;
  readonly circuitsClosed: number;
  readonly answers: number;
}

export function busFigures({ busWatch, bus, serverBuses }: World): BusFigures {
  const changes = serverBuses.map(({ breakerWatch }) => breakerWatch.changes);
  return {
    emitted: busWatch.events.size,
    arrivedTwice: busWatch.count(({ arrivals }) => arrivals > 1),
    deadLetters: busWatch.count(({ wasDead }) => wasDead),
    redriven: busWatch.count(({ wasDead, place }) => wasDead && place === 'published'),
    resolved: busWatch.count(({ place }) => place === 'resolved'),
    cuts: bus.cuts,
    circuitsOpened: changes.reduce((sum, { open }) => sum + open, 0),
    circuitsClosed: changes.reduce((sum, { closed }) => sum + closed, 0),
    answers: busWatch.answeredAt.size,
  };
}
