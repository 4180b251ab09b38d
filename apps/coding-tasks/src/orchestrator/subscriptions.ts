import { busSource, type SubscriberOptions } from 'capataz/bus';
import { queues } from '../contract/queues.ts';
import { resultsSubscription } from '../task/delegate.ts';
import { Intake, type IntakeOptions } from './intake.ts';

export function orchestratorSubscriptions(options: IntakeOptions): SubscriberOptions[] {
  const { bus } = options;
  const intake = new Intake(options);
  return [
    {
      name: 'tareas',
      source: busSource(bus, queues.userActions),
      handle: intake.onOrder,
    },
    {
      name: resultsSubscription,
      source: busSource(bus, queues.results),
      handle: intake.onResult,
    },
  ];
}
