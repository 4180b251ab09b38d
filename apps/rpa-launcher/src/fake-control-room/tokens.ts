import type { Clock } from 'capataz/server';
import type { FakeUser, Switches } from './world.ts';

interface Issued {
  readonly user: FakeUser;
  readonly until: number;
}

/** Sessions of the fake Control Room. */
export class Tokens {
  readonly #clock: Clock;
  readonly #newId: () => string;
  readonly #issued = new Map<string, Issued>();

  constructor(clock: Clock, newId: () => string) {
    this.#clock = clock;
    this.#newId = newId;
  }

  issue(user: FakeUser, endsOthers: boolean, { tokenLifeMs }: Switches): string {
    if (endsOthers) this.#end(user);
    const token = `${this.#newId()}.${this.#newId()}`;
    this.#issued.set(token, { user, until: this.#clock.now() + tokenLifeMs });
    return token;
  }

  userOf(token: string): FakeUser | null {
    const issued = this.#issued.get(token);
    if (issued === undefined) return null;
    if (this.#clock.now() < issued.until) return issued.user;
    this.#issued.delete(token);
    return null;
  }

  revoke(token: string): void {
    this.#issued.delete(token);
  }

  revokeAll(): void {
    this.#issued.clear();
  }

  #end(user: FakeUser): void {
    for (const [token, issued] of this.#issued) {
      if (issued.user.id === user.id) this.#issued.delete(token);
    }
  }
}
