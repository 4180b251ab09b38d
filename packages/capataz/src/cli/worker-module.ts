import { existsSync } from 'node:fs';
import { basename, extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { moduleProblem } from '../config/module-errors.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { WorkerOptions } from '../worker/index.ts';

/** What a worker module exports: `skills`, and what else it wants to say of itself. */
export interface WorkerModule {
  readonly path: string;
  readonly name: string;
  readonly options: Pick<
    WorkerOptions,
    'skills' | 'concurrency' | 'prefetch' | 'hotSkills' | 'offer'
  >;
}

/** @throws CapatazError CONFIG_INVALID naming the module. */
export async function loadWorkerModule(path: string, directory: string): Promise<WorkerModule> {
  const absolute = resolve(directory, path);
  if (!existsSync(absolute)) throw bad(absolute, `there is no file ${path}`);
  let module: Readonly<Record<string, unknown>>;
  try {
    module = await import(pathToFileURL(absolute).href);
  } catch (error) {
    throw bad(absolute, moduleProblem(absolute, error), error);
  }
  const { skills, concurrency, prefetch, hotSkills, offer, name } = module;
  if (typeof skills !== 'object' || skills === null) {
    throw bad(
      absolute,
      `${absolute}: exports no skills; add \`export const skills = { name: async (task) => … }\``,
    );
  }
  // The worker checks each of these when it is made, and names what is wrong.
  const options = given({
    skills,
    concurrency,
    prefetch,
    hotSkills,
    offer,
  }) as unknown as WorkerModule['options'];
  return {
    path: absolute,
    name: typeof name === 'string' ? name : basename(absolute, extname(absolute)),
    options,
  };
}

function bad(module: string, message: string, cause?: unknown): CapatazError {
  return new CapatazError('CONFIG_INVALID', message, { module }, cause);
}

function given(values: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
