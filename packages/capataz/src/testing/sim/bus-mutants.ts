import type { Mutant } from './mutant.ts';

/** Breaks on the way of an event: from the commit over outbox, relay, breaker and bus to the subscriber. */
export const busMutants: readonly Mutant[] = [
  {
    name: 'an event is settled before it is published',
    edits: [
      {
        file: 'engine/relay.ts',
        find: 'const verdict = await sink.publish(event).then(',
        replace:
          'void sink.publish(event).catch(() => undefined);\n    const verdict = await Promise.resolve().then(',
      },
    ],
  },
  {
    name: 'what an open circuit refuses counts as a try',
    edits: [
      {
        file: 'engine/relay.ts',
        find: ' || this.#parts.sink.pausedForMs() !== null',
        replace: '',
      },
      {
        file: 'compose/bus-sink.ts',
        find: "if (error instanceof CircuitOpenError) return 'away';",
        replace: '',
      },
    ],
  },
  {
    name: 'a bus that is away counts as a try',
    edits: [
      {
        file: 'compose/bus-sink.ts',
        find: "return away.has(error.code) ? 'away' : 'refused';",
        replace: "return 'refused';",
      },
    ],
  },
  {
    name: 'each try of an event has an id of its own',
    edits: [
      {
        file: 'compose/bus-sink.ts',
        find: 'return { id, job,',
        replace: 'return { id: id + event.retryCount, job,',
      },
    ],
  },
  {
    name: 'verdicts on failed tries are lost',
    edits: [
      {
        file: 'engine/relay.ts',
        find: 'this.#verdicts.push(verdict);',
        replace: "if (verdict.type === 'published') this.#verdicts.push(verdict);",
      },
    ],
  },
  {
    name: 'an event has one try more',
    edits: [
      {
        file: 'engine/relay.ts',
        find: 'if (retryCount >= options.maxRetries ||',
        replace: 'if (retryCount > options.maxRetries ||',
      },
    ],
  },
  {
    name: 'the relay sleeps on after its first look',
    edits: [
      {
        file: 'engine/relay.ts',
        find: 'this.#cancelAlarm = this.#parts.clock.after(pauseMs, () => this.call());',
        replace: '',
      },
    ],
  },
  {
    name: 'events of a job overtake each other',
    edits: [
      {
        file: 'store/memory/outbox.ts',
        find: '!seen.has(jobId) && seen.add(jobId)',
        replace: 'seen.add(jobId)',
      },
    ],
  },
  {
    name: 'what a change emits is not stored with it',
    edits: [
      {
        file: 'store/memory/outbox.ts',
        find: 'data.outbox.push({ event, notBefore: at });',
        replace: '',
      },
    ],
  },
  {
    name: 'what a handler emits is dropped where it enters a state that ends the job',
    edits: [
      {
        file: 'store/memory/changes.ts',
        find: 'addEmits(data, after.job, also.emits, at);',
        replace: 'if (!isFinal(after.job.status)) addEmits(data, after.job, also.emits, at);',
      },
    ],
  },
  {
    name: 'a failed event is tried again at once',
    edits: [
      {
        file: 'store/memory/outbox.ts',
        find: 'notBefore: at + verdict.retryAfterMs,',
        replace: 'notBefore: at,',
      },
    ],
  },
  {
    name: 'dead letters are dropped',
    edits: [
      {
        file: 'store/memory/outbox.ts',
        find: "if (verdict.type === 'dead') data.dead.push(",
        replace: "if (verdict.type !== 'dead') data.dead.push(",
      },
    ],
  },
  {
    name: 'a dead letter is redriven into nowhere',
    edits: [
      {
        file: 'store/memory/outbox.ts',
        find: 'data.outbox.push({ event: { ...event, retryCount: 0 }, notBefore: at });',
        replace: '',
      },
    ],
  },
  {
    name: 'the tries of a redriven event are not counted anew',
    edits: [
      {
        file: 'store/memory/outbox.ts',
        find: '{ ...event, retryCount: 0 }',
        replace: '{ ...event }',
      },
    ],
  },
  {
    name: 'an open circuit lets calls through',
    edits: [
      {
        file: 'breaker/circuit.ts',
        find: 'return now < circuit.until ? null :',
        replace: 'return now < 0 ? null :',
      },
    ],
  },
  {
    name: 'a half-open circuit lets all calls through',
    edits: [
      {
        file: 'breaker/circuit.ts',
        find: 'return isFull ? null :',
        replace: 'return isFull && false ? null :',
      },
    ],
  },
  {
    name: 'a circuit that has opened never closes',
    edits: [
      {
        file: 'breaker/circuit.ts',
        find: 'return successes >= limits.successThreshold',
        replace: 'return successes < 0',
      },
    ],
  },
  {
    name: 'an event is acknowledged before it is handled',
    edits: [
      {
        file: 'bus/handling.ts',
        find: 'const refusal = await this.#callHandler(entry);',
        replace:
          'for (const { delivery } of entry.copies) delivery.ack();\n      const refusal = await this.#callHandler(entry);',
      },
    ],
  },
  {
    name: 'handled events are not remembered',
    edits: [{ file: 'bus/handling.ts', find: 'this.#seen.add(entry.event.id);', replace: '' }],
  },
  {
    name: 'an event that comes again runs beside itself',
    edits: [
      {
        file: 'bus/handling.ts',
        find: 'if (known !== undefined) {',
        replace: "if (known?.state === 'queued') {",
      },
    ],
  },
  {
    name: 'a subscriber does not come back',
    edits: [
      {
        file: 'bus/subscriber.ts',
        find: 'await this.#pause(elapsedMs);',
        replace: "if (elapsedMs >= 0) return 'gave_up';",
      },
    ],
  },
  {
    name: 'an event is published and never marked',
    edits: [
      {
        file: 'store/memory/outbox.ts',
        find: 'data.outbox.splice(index, 1);',
        replace: '',
      },
    ],
  },
];
