import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Upper bounds in seconds, from a tenth of a second to an hour (H-pp). */
export const durationBuckets = [
  0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600,
];

/** Counters with exemplars. */
export const counterNames = {
  jobsCreated: 'jobs_created_total',
  jobsCompleted: 'jobs_completed_total',
  jobsFailed: 'jobs_failed_total',
  jobsTimedOut: 'jobs_timed_out_total',
  eventsPublished: 'events_published_total',
  eventsFailed: 'events_failed_total',
  dispatchFailures: 'dispatch_failures_total',
} as const;

/** Every metric there is, by the names of the lifecycle seed; those from jobs_oldest_age_seconds on are ours. */
export type Instruments = ReturnType<typeof createInstruments>;

/** All durations are seconds, as is usual with Prometheus; the seed's names don't say so. */
export function createInstruments(registry: Registry) {
  const { counter, histogram, gauge } = makersFor(registry);
  return {
    jobsCreated: counter(counterNames.jobsCreated, 'Jobs created, children included'),
    jobsCompleted: counter(counterNames.jobsCompleted, 'Jobs that finished'),
    jobsFailed: counter(counterNames.jobsFailed, 'Jobs that failed or were quarantined'),
    jobsTimedOut: counter(
      counterNames.jobsTimedOut,
      'Those of jobs_failed_total whose cause is a deadline or an attempt without a sign of work',
    ),
    jobStateDuration: histogram(
      'job_state_duration',
      'Seconds that jobs stayed in a state before they left it',
      ['state'],
    ),
    jobsInState: gauge('jobs_in_state', 'Jobs by state, from the store', ['state']),
    workersCreated: counter(
      'workers_created_total',
      'Workers that registered and were not known, new processes under a known id included',
    ),
    workersTerminated: counter('workers_terminated_total', 'Workers that signed off or were lost'),
    workerStateDuration: histogram(
      'worker_state_duration',
      'Seconds that workers stayed in a state before they left it',
      ['state'],
    ),
    workersInState: gauge('workers_in_state', 'Workers by state, from the store', ['state']),
    eventsPublished: counter(counterNames.eventsPublished, 'Events that the bus took'),
    eventsFailed: counter(counterNames.eventsFailed, 'Tries to publish an event that failed'),
    eventPublishDuration: histogram(
      'event_publish_duration',
      'Seconds that a try to publish an event took',
    ),
    outboxQueueSize: gauge('outbox_queue_size', 'Events that are not published yet'),
    dlqSize: gauge('dlq_size', 'Dead letters that nobody has resolved'),
    circuitBreakerState: gauge(
      'circuit_breaker_state',
      'Circuit breakers of this process: 0 closed, 1 half-open, 2 open. worker_id names what the breaker guards: a worker that is there, or a broker',
      ['worker_id'],
    ),
    dispatchFailures: counter(
      counterNames.dispatchFailures,
      'Tasks that nobody took in time, and hand-outs that ended before a sign of work',
    ),
    jobsOldestAge: gauge(
      'jobs_oldest_age_seconds',
      'Age in its state of the job that is in it longest: since its hand-out, else since its blueprint state was entered; 0 where there is none',
      ['state'],
    ),
    tasksInState: gauge('tasks_in_state', 'Open tasks by state, branches included', ['state']),
    subscriptionLive: gauge(
      'bus_subscription_live',
      'Bus subscriptions of this process: 1 live, 0 down',
      ['subscription'],
    ),
    signalsIgnored: counter(
      'signals_ignored_total',
      'Signals that moved no job: refused, or noted by a row that took them with a remark',
      ['outcome'],
    ),
    scheduleSlots: counter(
      'schedule_slots_total',
      'Slots of schedules by what became of them: started, busy, blackout, missed or refused. A run of slots that was left out at once counts as 1,000 at most',
      ['schedule', 'outcome'],
    ),
    historyBacklog: gauge(
      'history_backlog',
      'Commits in the history that moving it out of the store has not come to yet, those of the last minute always among them; 0 where it stays there',
    ),
    loopLag: gauge(
      'event_loop_lag_seconds',
      'Longest lag of the event loop of this process in the last 15 seconds',
    ),
  };
}

function makersFor(registry: Registry) {
  const registers = [registry];
  return {
    counter: <L extends string = never>(
      name: string,
      help: string,
      labelNames: readonly L[] = [],
    ): Counter<L> => new Counter({ name, help, labelNames, registers }),
    gauge: <L extends string = never>(
      name: string,
      help: string,
      labelNames: readonly L[] = [],
    ): Gauge<L> => new Gauge({ name, help, labelNames, registers }),
    histogram: <L extends string = never>(
      name: string,
      help: string,
      labelNames: readonly L[] = [],
    ): Histogram<L> =>
      new Histogram({ name, help, labelNames, registers, buckets: durationBuckets }),
  };
}
