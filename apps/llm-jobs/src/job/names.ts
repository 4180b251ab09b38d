/** Under which jobs are started. */
export const blueprintName = 'llm-job';
