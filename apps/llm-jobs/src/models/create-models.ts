import type { Catalog } from './catalog.ts';
import { type ModelPort, tiers } from './contract.ts';
import { keyOf, ProviderModels, type ProviderModelsOptions } from './provider-models.ts';
import { StubModels } from './stub-models.ts';

export interface Models extends ModelPort, AsyncDisposable {
  /** No model is asked, because none of the tiers has a provider that could be: keys are missing. */
  readonly isStub: boolean;
}

/** The models of the catalog, or the stub where there is a key for none of them. */
export function createModels(
  options: ProviderModelsOptions & { readonly catalog: Catalog },
): Models {
  const isStub = !hasUsableTier(options);
  const port = isStub ? new StubModels() : new ProviderModels(options);
  return {
    isStub,
    call: (call) => port.call(call),
    async [Symbol.asyncDispose]() {
      if (port instanceof ProviderModels) await port[Symbol.asyncDispose]();
    },
  };
}

function hasUsableTier({ catalog, keys }: Parameters<typeof createModels>[0]): boolean {
  const steps = tiers.flatMap((tier) => catalog.tiers[tier].chain);
  return steps.some(({ provider: name }) => {
    const provider = catalog.providers.get(name);
    return provider !== undefined && keyOf(provider, keys) !== undefined;
  });
}
