import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Clock } from 'capataz/server';
import { wallTime } from './wall-time.ts';

export interface DailyFileOptions {
  readonly folder: string;
  readonly name: string;
  /** Files of former days: `<name>.2025-11-21`. */
  readonly kept: number;
  /** Whose midnight begins a new file. */
  readonly zone: string;
  readonly clock: Clock;
  /** Where it is told, once, that the file can't be written. */
  readonly say: (text: string) => unknown;
}

/** A file for today; at the first line of another day it gets its day's name, and old ones go. */
export class DailyFile {
  readonly #options: DailyFileOptions;
  readonly #path: string;
  #open: { readonly descriptor: number; readonly day: string } | null = null;
  #isBroken = false;

  constructor(options: DailyFileOptions) {
    this.#options = options;
    this.#path = join(options.folder, options.name);
  }

  /** Never throws: a full disk must not stop robots. */
  write(text: string): void {
    try {
      writeSync(this.#today(), text);
      this.#isBroken = false;
    } catch (error) {
      this.#close();
      if (!this.#isBroken) this.#options.say(`${this.#path} cannot be written: ${error}\n`);
      this.#isBroken = true;
    }
  }

  #today(): number {
    const day = this.#dayOf(this.#options.clock.now());
    if (this.#open?.day === day) return this.#open.descriptor;
    if (this.#open === null) this.#openFile();
    if (this.#open !== null && this.#open.day !== day) this.#turnOver(this.#open.day);
    if (this.#open === null) throw new Error('it is not open');
    return this.#open.descriptor;
  }

  /** What was there before belongs to the day of its last line. */
  #openFile(): void {
    mkdirSync(this.#options.folder, { recursive: true });
    const descriptor = openSync(this.#path, 'a');
    const { size, mtimeMs } = fstatSync(descriptor);
    const day = this.#dayOf(size === 0 ? this.#options.clock.now() : mtimeMs);
    this.#open = { descriptor, day };
  }

  #turnOver(day: string): void {
    this.#close();
    renameSync(this.#path, `${this.#path}.${day}`);
    this.#removeOld();
    const descriptor = openSync(this.#path, 'a');
    this.#open = { descriptor, day: this.#dayOf(this.#options.clock.now()) };
  }

  #removeOld(): void {
    const { folder, name, kept } = this.#options;
    const days = readdirSync(folder)
      .filter((file) => file.startsWith(`${name}.`) && /\.\d{4}-\d\d-\d\d$/.test(file))
      .sort()
      .reverse();
    for (const file of days.slice(kept)) rmSync(join(folder, file));
  }

  #close(): void {
    if (this.#open !== null) closeSync(this.#open.descriptor);
    this.#open = null;
  }

  #dayOf(at: number): string {
    return wallTime(at, this.#options.zone).slice(0, 10);
  }
}
