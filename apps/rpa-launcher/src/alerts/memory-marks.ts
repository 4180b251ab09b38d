import type { AlertMark, AlertMarks } from './contract.ts';

/** Marks that end with the process: for simulations and tests. */
export function memoryMarks(marks: readonly AlertMark[] = []): AlertMarks {
  const byId = new Map(marks.map((mark) => [markId(mark), mark]));
  return {
    all: async () => [...byId.values()],
    put: async (mark) => {
      byId.set(markId(mark), mark);
    },
    remove: async (kind, key) => {
      byId.delete(markId({ kind, key }));
    },
  };
}

export function markId({ kind, key }: Pick<AlertMark, 'kind' | 'key'>): string {
  return `${kind} ${key}`;
}
