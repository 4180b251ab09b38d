import { z } from 'zod';

/**
 * The worker's wire for the OpenAPI document. What comes in is checked by the parsers in `parse/`,
 * which are cheaper; a test feeds both the same bodies.
 */
const jsonObject = z.record(z.string(), z.unknown());
const skills = z.array(z.union([z.string(), z.object({ name: z.string() }).loose()]));

export const registrationBody = z.object({
  worker_id: z.string().min(1).max(200),
  worker_type: z.string().max(200).optional(),
  supported_skills: skills,
  available_skills: z.unknown().optional(),
  hot_skills: skills.optional(),
  resources: z
    .object({
      devices: z
        .array(
          z.object({
            type: z.string().optional(),
            model: z.string().optional(),
            id: z.unknown().optional(),
            properties: jsonObject.optional(),
          }),
        )
        .optional(),
      properties: jsonObject.optional(),
    })
    .optional(),
  installed_software: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
  installed_artifacts: z
    .array(z.object({ name: z.string().min(1), version: z.string().optional() }))
    .optional(),
  capabilities: z
    .object({
      hostname: z.string().optional(),
      cost_per_skill: z.record(z.string(), z.number()).optional(),
      extra: z
        .object({
          boot_id: z.string().optional().describe("Names the worker's process."),
          heartbeat_interval_ms: z.int().min(100).optional().describe('Default 15000.'),
          slots: z.int().min(1).optional().describe('Tasks that it runs at once.'),
          batch: z.boolean().optional().describe('It uses the batched forms.'),
        })
        .loose()
        .optional(),
    })
    .optional(),
});

export const registrationAnswer = z.object({
  status: z.literal('registered'),
  version: z.string(),
});

export const heartbeatBody = z.object({
  worker_id: z.string().optional(),
  status: z.string().optional().describe('idle, busy, full, offline or draining.'),
  current_tasks: z
    .array(z.string())
    .optional()
    .describe('Attempts that it works on. Absent: unknown. []: none.'),
  prefetched_tasks: z.array(z.string()).optional().describe('Attempts held and not begun.'),
  supported_skills: skills.optional(),
  hot_skills: skills.optional(),
});

export const heartbeatAnswer = z.object({
  status: z.enum(['ok', 'ttl_refreshed']),
  cancel_task_ids: z.array(z.string()).optional().describe('Attempts that it should stop.'),
});

export const taskBody = z.object({
  job_id: z.string(),
  task_id: z.string().describe("The attempt's id."),
  type: z.string().describe('The skill.'),
  params: jsonObject,
  priority: z.int(),
  timestamp: z.number(),
  tracing_context: jsonObject,
  correlation_id: z.exactOptional(z.string()).describe('In the batched forms.'),
  deadline: z.int().optional().describe('Absolute, Unix seconds.'),
  metadata: jsonObject.optional(),
});

export const pollAnswer = z.union([taskBody, z.object({ tasks: z.array(taskBody) })]);

export const pollQuery = z.object({
  timeout: z.coerce.number().nonnegative().default(30).describe('Seconds.'),
  max: z.coerce.number().int().min(1).optional().describe('Batched form only.'),
});

export const resultBody = z.object({
  job_id: z.string().min(1).max(200),
  task_id: z.string().min(1).max(200).describe("The attempt's id."),
  worker_id: z.string().optional(),
  status: z.string().optional().describe('Default `success`.'),
  data: z.unknown().optional(),
  error: z
    .object({
      code: z.string().optional(),
      message: z.string().optional(),
      details: z.unknown().optional(),
    })
    .optional(),
  handed_back: z.enum(['started', 'not_started']).optional(),
});

const accepted = z.object({ status: z.literal('accepted'), transition: z.string() });

export const resultAnswer = z.union([
  accepted,
  z.object({ status: z.literal('ignored'), reason: z.string(), message: z.string() }),
]);

export const resultsBody = z.object({
  results: z.array(resultBody),
  want: z.int().nonnegative().optional().describe('Room for further tasks. Default 0.'),
});

export const resultsAnswer = z.object({
  results: z.array(
    z.union([
      accepted,
      z.object({
        status: z.literal('refused'),
        code: z.literal('ATTEMPT_NOT_CURRENT'),
        reason: z.string(),
        message: z.string(),
      }),
    ]),
  ),
  tasks: z.array(taskBody),
});

export const eventBody = z.object({
  event_type: z.string().min(1),
  worker_id: z.string().optional(),
  payload: z
    .object({ progress: z.number().optional(), message: z.string().optional() })
    .loose()
    .optional(),
  target_job_id: z.string().optional(),
  target_task_id: z.string().optional(),
  origin_task_id: z.string().optional(),
});

export const eventAnswer = z.object({ status: z.literal('event_accepted') });
