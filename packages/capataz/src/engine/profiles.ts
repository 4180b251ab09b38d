import { misfit, type Offer, type TaskClass } from '../core/requirements.ts';
import { canonicalJson } from '../std/json.ts';

/** Workers that offer the same: what fits one of them fits all. */
export interface Profile {
  readonly offer: Offer;
  /** Class → fits. */
  readonly fits: Map<string, boolean>;
}

/** Classes come from what jobs ask for, so a profile's judgements are thrown away at this many. */
const maxJudgements = 10_000;
/** Offers come from workers, which are gone one day. */
const maxProfiles = 10_000;

/**
 * What workers offer, judged once for all who offer the same: of 10,000 workers that register, most
 * are one of a few kinds.
 */
export class Profiles {
  readonly #byText = new Map<string, Profile>();
  /** An offer that changes is another object. */
  readonly #byOffer = new WeakMap<Offer, Profile>();

  of(offer: Offer): Profile {
    const known = this.#byOffer.get(offer);
    if (known !== undefined) return known;
    const { worker: _, ...shared } = offer;
    const text = canonicalJson(shared);
    if (this.#byText.size >= maxProfiles) this.#byText.clear();
    const profile = this.#byText.get(text) ?? { offer, fits: new Map() };
    this.#byText.set(text, profile);
    this.#byOffer.set(offer, profile);
    return profile;
  }

  fits(taskClass: TaskClass, offer: Offer): boolean {
    // Who is named is not among what a profile shares.
    if (isForOne(taskClass)) return misfit(taskClass, offer) === null;
    return fitsProfile(taskClass, this.of(offer));
  }
}

export function fitsProfile(taskClass: TaskClass, { offer, fits }: Profile): boolean {
  let fit = fits.get(taskClass.key);
  if (fit === undefined) {
    if (fits.size >= maxJudgements) fits.clear();
    fit = misfit(taskClass, offer) === null;
    fits.set(taskClass.key, fit);
  }
  return fit;
}

/** Only the named worker may do it. */
export function isForOne({ requirements }: TaskClass): boolean {
  return requirements?.worker !== undefined;
}
