import type { Breaker } from '../../breaker/breaker.ts';
import { Breakers } from '../../breaker/breakers.ts';
import { type Bus, BusError } from '../../bus/contract.ts';
import { busSink, judgeBus } from '../../compose/bus-sink.ts';
import type { EventSink, RelayOptions } from '../../engine/relay.ts';
import { BreakerWatch } from './breaker-watch.ts';
import type { SimBus } from './bus.ts';
import type { BusWatch } from './bus-watch.ts';
import type { SimProcess } from './process.ts';

/** Shorter than the product's, so that a storm sees events die and circuits open and close. */
export const simRelay: RelayOptions = { maxRetries: 3, baseMs: 1_000, capMs: 3_000 };
const openMs = 4_000;
const maxProbes = 1;

/** What one server has of the bus: its link, and its relay's way there through the breaker. */
export interface ServerBus {
  readonly link: Bus;
  readonly sink: EventSink;
  readonly breaker: () => Breaker;
  readonly breakerWatch: BreakerWatch;
}

export function serverBus(bus: SimBus, process: SimProcess, watch: BusWatch): ServerBus {
  const link = bus.linkOf(process);
  const breakerWatch = new BreakerWatch({ clock: process.clock, openMs, maxProbes });
  const breakers = new Breakers({
    clock: process.clock,
    judge: judgeBus,
    failureThreshold: 3,
    successThreshold: 2,
    openFor: `${openMs}ms`,
    maxProbes,
    onChange: (change) => breakerWatch.onChange(change),
  });
  // The name that the sink gives it.
  const breaker = (): Breaker => breakers.get('bus');
  const watched: Bus = {
    ...link,
    publish: async (exchange, event) => {
      const end = breakerWatch.onCall(breaker().state);
      watch.onTried(event.id);
      try {
        await link.publish(exchange, event);
      } catch (error) {
        // Not by the sink's own word, which is what is looked at.
        if (error instanceof BusError && error.code === 'down') watch.onAway(event.id);
        throw error;
      } finally {
        end();
      }
    },
  };
  const sink: EventSink = busSink({ bus: watched, breakers, originator: 'sim' });
  return { link, sink, breaker, breakerWatch };
}
