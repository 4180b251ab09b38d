import type { Heartbeat } from '../../engine/ports.ts';
import type { JsonValue } from '../../std/json.ts';
import { Fields } from './fields.ts';
import { skillNames } from './skills.ts';

export interface ParsedHeartbeat {
  /** Whom the body says it is from, if it says so. */
  readonly worker: string | undefined;
  readonly beat: Heartbeat;
}

/** @throws VALIDATION_FAILED */
export function parseHeartbeat(body: JsonValue): ParsedHeartbeat {
  return Fields.readAll(body, (fields) => {
    const status = fields.string('status', 100);
    const currentTasks = fields.strings('current_tasks');
    const prefetched = fields.strings('prefetched_tasks');
    const skills = skillNames(fields, 'supported_skills');
    const hotSkills = skillNames(fields, 'hot_skills');
    // A worker that shuts down empties its list; taken at its word it would come back without skills.
    const isFarewell = status === 'offline' && skills?.length === 0;
    return {
      worker: fields.string('worker_id', 200),
      beat: {
        ...(status === undefined ? {} : { status }),
        ...(currentTasks === undefined ? {} : { currentTasks }),
        ...(prefetched === undefined ? {} : { prefetched }),
        ...(skills === undefined || isFarewell ? {} : { skills }),
        ...(hotSkills === undefined ? {} : { hotSkills }),
      },
    };
  });
}
