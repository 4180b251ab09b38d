import { type ModelAnswer, type ModelCall, type ModelPort, noUsage } from './contract.ts';

/** Stands in where nobody gave a key: answers at once, asks nobody, and says so. */
export class StubModels implements ModelPort {
  async call({ provider, model, onDelta }: ModelCall): Promise<ModelAnswer> {
    const text = `[stub] ${provider}/${model} was not asked: no key is configured.`;
    onDelta?.(text);
    return { text, usage: noUsage, providerRequestId: null, isStub: true };
  }
}
