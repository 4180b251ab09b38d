/** Stands in for a payment service: it charges at most once for each key that it is given. */
export class Bank {
  readonly #charges = new Map<string, string>();
  #number = 0;

  reset(): void {
    this.#charges.clear();
  }

  charge(key: string, order: string): { readonly receipt: string } {
    if (!this.#charges.has(key)) this.#charges.set(key, order);
    this.#number += 1;
    return { receipt: `r-${this.#number}` };
  }

  /** Orders that were charged more than once. */
  get chargedTwice(): string[] {
    const orders = [...this.#charges.values()];
    return [...new Set(orders.filter((order, index) => orders.indexOf(order) !== index))];
  }
}
