/** How often workers were started, and how often they registered. */
export class Registrations {
  readonly #starts = new Map<string, number>();
  readonly #counts = new Map<string, number>();

  start(worker: string): void {
    this.#starts.set(worker, (this.#starts.get(worker) ?? 0) + 1);
  }

  count(worker: string): void {
    this.#counts.set(worker, (this.#counts.get(worker) ?? 0) + 1);
  }

  /** Nothing makes a worker register again that is well, and whose servers are. */
  check(): string[] {
    return [...this.#counts].flatMap(([worker, count]) => {
      const starts = this.#starts.get(worker) ?? 0;
      if (count <= starts) return [];
      return [`${worker} was started ${starts} times, and registered ${count} times`];
    });
  }
}
