import { z } from 'zod';

/** A plan waits for its person. */
export const notice = z.object({
  taskId: z.string(),
  planId: z.string(),
  hash: z.string(),
  plan: z.record(z.string(), z.json()),
  prompt: z.string(),
  repositorioOrigen: z.string(),
  /** Whose task it is. */
  usuario: z.string(),
  /** Who may decide besides. */
  revisores: z.array(z.string()),
});
export type Notice = z.infer<typeof notice>;

/** A way to tell somebody. It is told again after a failure, under the same id. @throws */
export type Channel = (
  notice: Notice,
  options: { readonly id: string; readonly signal: AbortSignal },
) => Promise<void>;
