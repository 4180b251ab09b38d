import { z } from 'zod';
import { check } from '../server/parse/check.ts';
import { ok, type Route } from '../server/route.ts';
import type { Clock } from '../std/clock.ts';
import { maxDurationMs } from '../std/duration.ts';
import { MovableClock } from '../std/movable-clock.ts';

const body = z.strictObject({ advance_ms: z.int().min(0).max(maxDurationMs) });
const answer = z.object({ now: z.int().describe('Ms since 1970 UTC.') });

/** There with the switch alone. */
export function testClockRoutes(clock: Clock): Route[] {
  if (!(clock instanceof MovableClock)) return [];
  return [
    {
      method: 'POST',
      path: '/_test/clock',
      area: 'public',
      operation: {
        id: 'moveTestClock',
        summary: 'Moves the clock of this server forward: for tests',
        body,
        answers: { 200: { description: 'It is moved', body: answer } },
        errors: ['VALIDATION_FAILED'],
      },
      handle: ({ request }) => {
        clock.advance(check(body, request.body).advance_ms);
        return ok({ now: Math.floor(clock.now()) });
      },
    },
  ];
}
