import { busSource, type QueueOptions, type SubscriberOptions } from 'capataz/bus';
import { exchanges } from '../contract/names.ts';
import { resultsSubscription } from '../task/delegate.ts';
import { Intake, type IntakeOptions } from './intake.ts';

/** Each service has a queue of its own, bound to the names that it needs: none takes from another. */
export const orchestratorQueues = {
  orders: {
    durable: 'orchestrator-service.tareas',
    exchange: exchanges.orders,
    patterns: ['tarea.crear', 'tarea.aprobar_plan', 'tarea.rechazar_plan', 'tarea.cancelar'],
  },
  results: {
    durable: 'orchestrator-service.resultados',
    exchange: exchanges.results,
    patterns: ['resultado.*'],
  },
} as const satisfies Readonly<Record<string, QueueOptions>>;

export function orchestratorSubscriptions(options: IntakeOptions): SubscriberOptions[] {
  const { bus } = options;
  const intake = new Intake(options);
  return [
    {
      name: 'tareas',
      source: busSource(bus, orchestratorQueues.orders),
      handle: intake.onOrder,
    },
    {
      name: resultsSubscription,
      source: busSource(bus, orchestratorQueues.results),
      handle: intake.onResult,
    },
  ];
}
