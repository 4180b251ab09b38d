import type { Progress } from '../../engine/ports.ts';
import type { JsonValue } from '../../std/json.ts';
import { Fields } from './fields.ts';

export type ParsedWorkerEvent = {
  readonly worker: string | undefined;
} & (
  | { readonly type: 'progress'; readonly jobId: string; readonly progress: Progress }
  | { readonly type: 'other'; readonly name: string }
);

/** @throws VALIDATION_FAILED */
export function parseWorkerEvent(body: JsonValue | undefined): ParsedWorkerEvent {
  return Fields.readAll(body, (fields) => {
    const name = fields.requiredString('event_type');
    const worker = fields.string('worker_id', 200);
    // Both names are in use.
    if (name !== 'progress' && name !== 'progress_update') return { type: 'other', worker, name };
    const attempt = fields.string('target_task_id', 200) ?? fields.string('origin_task_id', 200);
    if (attempt === undefined) fields.refuse('target_task_id', 'is required for progress');
    const payload = fields.fields('payload');
    const fraction = payload.number('progress');
    return {
      type: 'progress',
      worker,
      jobId: fields.requiredString('target_job_id'),
      progress: {
        attempt: attempt ?? '',
        fraction: fraction === undefined ? null : Math.min(1, Math.max(0, fraction)),
        message: payload.string('message') ?? null,
      },
    };
  });
}
