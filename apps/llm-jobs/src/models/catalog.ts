import { fileURLToPath } from 'node:url';
import { type CatalogFile, invalid, readCatalogFile } from './catalog-file.ts';
import { type FailureClass, type Target, type Tier, tiers } from './contract.ts';
import type { NanoUsd } from './money.ts';
import type { Price } from './price.ts';

export interface Provider {
  /** Whose wire it speaks. */
  readonly api: 'anthropic' | 'openai-compatible';
  /** Null: Anthropic's own place. */
  readonly baseUrl: string | null;
  /** The environment variable with its key; null if it needs none. */
  readonly key: string | null;
}

/** Where one try of a job goes. */
export interface Step extends Target {
  readonly tier: Tier;
}

export interface TierEntry {
  /** The flat price of a job of this tier, whatever it really cost. */
  readonly cost: NanoUsd;
  /** Whom a job of this tier asks first, and then where its retries may go. Never empty. */
  readonly chain: readonly [Step, ...Step[]];
}

/** What `models.toml` says, checked. */
export interface Catalog {
  readonly providers: ReadonlyMap<string, Provider>;
  readonly tiers: Readonly<Record<Tier, TierEntry>>;
  readonly prices: ReadonlyMap<string, Price>;
  /** The failures after which a job goes on to the next step of its chain. */
  readonly fallbackOn: readonly FailureClass[];
}

const shippedFile = fileURLToPath(new URL('./models.toml', import.meta.url));

/**
 * What is shipped, with a file of the user's laid over it: providers and tiers field by field, prices
 * entry by entry, each with the date of its file.
 * @throws CapatazError CONFIG_INVALID that lists everything that is wrong
 */
export function loadCatalog(ownFile?: string): Catalog {
  const files = [shippedFile, ...(ownFile === undefined ? [] : [ownFile])];
  return catalogOf(files.map(readCatalogFile), ownFile ?? shippedFile);
}

/** @param place what to blame where the files together make no sense */
export function catalogOf(files: readonly CatalogFile[], place: string): Catalog {
  const problems: string[] = [];
  const problem = (where: string, message: string): void => {
    problems.push(`${place}: ${where}: ${message}`);
  };
  const merged = mergeFiles(files);
  const providers = readProviders(merged.providers, problem);
  const knownTarget = (text: string, where: string): Target | null => {
    const target = targetOf(text);
    if (target !== null && providers.has(target.provider)) return target;
    problem(where, `"${text}" is not "provider/model" of a known provider`);
    return null;
  };
  for (const name of merged.prices.keys()) knownTarget(name, `prices."${name}"`);
  const entries = tiers.map((tier) => [tier, readTier(tier, merged.tiers, knownTarget)] as const);
  for (const [tier, entry] of entries) {
    if (entry === null) problem(`tiers.${tier}`, 'needs a model and cost_usd');
  }
  if (problems.length > 0) throw invalid(problems);
  return {
    providers,
    tiers: Object.fromEntries(entries) as Record<Tier, TierEntry>,
    prices: merged.prices,
    fallbackOn: merged.fallbackOn,
  };
}

/** The price of a model: its own, or that of all models of its provider; null if nobody knows. */
export function priceOf({ prices }: Catalog, { provider, model }: Target): Price | null {
  return prices.get(`${provider}/${model}`) ?? prices.get(`${provider}/*`) ?? null;
}

/**
 * Where the next try goes after a failure at `step` of the chain, counted from 0. Null: nowhere, the
 * failure is permanent. Retries left or not is the job's own question.
 */
export function nextStep(
  { chain }: TierEntry,
  { step, failureClass }: { readonly step: number; readonly failureClass: FailureClass },
  fallbackOn: readonly FailureClass[],
): number | null {
  if (fallbackOn.includes(failureClass) && step + 1 < chain.length) return step + 1;
  return failureClass === 'permanent' ? null : step;
}

interface Merged {
  readonly providers: Map<string, CatalogFile['providers'][string]>;
  readonly tiers: CatalogFile['tiers'];
  readonly prices: Map<string, Price>;
  readonly fallbackOn: readonly FailureClass[];
}

function mergeFiles(files: readonly CatalogFile[]): Merged {
  const providers: Merged['providers'] = new Map();
  const prices: Merged['prices'] = new Map();
  const merged: CatalogFile['tiers'] = {};
  let fallbackOn: readonly FailureClass[] = ['system'];
  for (const file of files) {
    for (const [name, provider] of Object.entries(file.providers)) {
      providers.set(name, { ...providers.get(name), ...provider });
    }
    for (const tier of tiers) merged[tier] = { ...merged[tier], ...file.tiers[tier] };
    for (const [name, price] of Object.entries(file.prices)) {
      prices.set(name, { perToken: perTokenOf(price), date: file.date ?? '' });
    }
    fallbackOn = file.fallback_on ?? fallbackOn;
  }
  return { providers, tiers: merged, prices, fallbackOn };
}

function perTokenOf(price: CatalogFile['prices'][string]): Price['perToken'] {
  const { input = null, output = null, cache_read = null, cache_write = null } = price;
  return { input, output, cacheRead: cache_read, cacheWrite: cache_write };
}

function readProviders(
  from: Merged['providers'],
  problem: (where: string, message: string) => void,
): Map<string, Provider> {
  const providers = new Map<string, Provider>();
  for (const [name, { api, base_url: baseUrl = null, key = null }] of from) {
    if (api === undefined) problem(`providers.${name}.api`, 'is missing');
    else if (api === 'openai-compatible' && baseUrl === null) {
      problem(`providers.${name}.base_url`, 'is missing, and this wire has no place of its own');
    }
    // Also with a problem, so that a model of this provider is not blamed as well.
    providers.set(name, { api: api ?? 'anthropic', baseUrl, key });
  }
  return providers;
}

function readTier(
  tier: Tier,
  all: CatalogFile['tiers'],
  knownTarget: (text: string, where: string) => Target | null,
): TierEntry | null {
  const { model, cost_usd: cost, fallback = [] } = all[tier] ?? {};
  if (model === undefined || cost === undefined) return null;
  const first = { tier, ...asStep(knownTarget(model, `tiers.${tier}.model`)) };
  const rest = fallback.map((text): Step => {
    const other = tiers.find((name) => name === text);
    const target = other === undefined ? text : (all[other]?.model ?? '');
    return { tier: other ?? tier, ...asStep(knownTarget(target, `tiers.${tier}.fallback`)) };
  });
  return { cost, chain: [first, ...rest] };
}

/** What is not known has been noted, and no catalog comes of it. */
function asStep(target: Target | null): Target {
  return target ?? { provider: '', model: '' };
}

/** `provider/model`; a model's own name may contain slashes. */
function targetOf(text: string): Target | null {
  const [, provider, model] = /^([\w-]+)\/(.+)$/.exec(text) ?? [];
  return provider === undefined || model === undefined ? null : { provider, model };
}
