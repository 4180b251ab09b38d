import { CapatazError } from '../protocol/errors.ts';
import type { Route } from './route.ts';

/**
 * An application's route may stand under any path that no other route answers: one that is taken in
 * part would change what clients of ours get.
 * @throws CapatazError CONFIG_INVALID naming every clash
 */
export function refuseClashes(ours: readonly Route[], further: readonly Route[]): void {
  const problems: string[] = [];
  const before = [...ours];
  for (const route of further) {
    const clash = before.find((other) => other.method === route.method && overlap(other, route));
    if (clash !== undefined)
      problems.push(`route ${spelled(route)} takes requests of ${spelled(clash)}: move it`);
    const twin = before.find(({ operation }) => operation.id === route.operation.id);
    if (twin !== undefined)
      problems.push(`route ${spelled(route)} has the operation id of ${spelled(twin)}: rename it`);
    before.push(route);
  }
  if (problems.length === 0) return;
  const hint = 'This is code of the application: mend it there.';
  throw new CapatazError('CONFIG_INVALID', problems.join('\n'), { problems, hint });
}

function spelled({ method, path }: Route): string {
  return `${method} ${path}`;
}

/** Whether there is a path that both would answer. */
function overlap(a: Route, b: Route): boolean {
  const [first, second] = [partsOf(a), partsOf(b)];
  const length = Math.max(first.length, second.length);
  for (let index = 0; index < length; index += 1) {
    const [one, other] = [first[index], second[index]];
    if (one === '{path}' || other === '{path}') return one !== undefined && other !== undefined;
    if (one === undefined || other === undefined) return false;
    if (one !== other && !isOpen(one) && !isOpen(other)) return false;
  }
  return true;
}

function partsOf({ path }: Route): string[] {
  return path.split('/').slice(1);
}

function isOpen(part: string): boolean {
  return part.includes('{');
}
