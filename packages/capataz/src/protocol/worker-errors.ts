/**
 * What a worker's error code does to the task. The codes and their grouping are RXON's; an unknown
 * code counts as transient, since a newer worker must not lose its job for a new word.
 */
export type ErrorClass = 'transient' | 'permanent' | 'invalid_input';

const classes: Readonly<Record<string, ErrorClass>> = {
  TRANSIENT_ERROR: 'transient',
  TIMEOUT_ERROR: 'transient',
  RESOURCE_EXHAUSTED_ERROR: 'transient',
  LIMIT_EXCEEDED_ERROR: 'transient',
  DEPENDENCY_MISSING_ERROR: 'transient',
  INTERNAL_ERROR: 'transient',
  LATE_RESULT: 'transient',
  PERMANENT_ERROR: 'permanent',
  SECURITY_ERROR: 'permanent',
  DEPENDENCY_ERROR: 'permanent',
  CONTRACT_VIOLATION_ERROR: 'permanent',
  INVALID_INPUT_ERROR: 'invalid_input',
  INTEGRITY_MISMATCH_ERROR: 'invalid_input',
};

export function errorClass(code: string): ErrorClass {
  return Object.hasOwn(classes, code) ? (classes[code] ?? 'transient') : 'transient';
}
