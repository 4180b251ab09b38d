import { busMutants } from './bus-mutants.ts';
import { jobMutants } from './job-mutants.ts';
import type { Mutant } from './mutant.ts';

export const mutants: readonly Mutant[] = [...jobMutants, ...busMutants];
