export {
  type Bus,
  type BusCodec,
  BusError,
  type BusErrorCode,
  type BusEvent,
  type BusHealth,
  type DeadLetter,
  type DeadVerdict,
  type Decoded,
  type Delivery,
  type QueueOptions,
  type Subscription,
  type WireMessage,
} from './contract.ts';
export { envelopeCodec, eventHeaders } from './envelope.ts';
export { createFaultyBus, type FaultyBus, type PublishFault } from './faulty.ts';
export type { EventHandler, Refusal, Trouble } from './handling.ts';
export { createInProcessBus, type InProcessBusOptions } from './in-process.ts';
export type { EventSource } from './live-session.ts';
export { createPostgresBus, type PostgresBusOptions } from './postgres/postgres-bus.ts';
export { createRabbitBus, type RabbitBusOptions } from './rabbit/rabbit-bus.ts';
export type { ReconnectPolicy } from './reconnect.ts';
export type { EventLog, LoggedEvent } from './replay.ts';
export {
  busSource,
  createSubscriber,
  type Subscriber,
  type SubscriberHealth,
  type SubscriberOptions,
  type SubscriberStatus,
} from './subscriber.ts';
export { topicMatches } from './topic.ts';
