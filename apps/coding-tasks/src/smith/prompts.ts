/** What agents are told. They hear of no branch, bus or task: only of the repository and the work. */

const planRules = `Make a plan and change nothing: no file, no commit.
Look at the repository in the current folder first. Answer with the plan alone, as Markdown: what will
be changed in which files, in which order, and how it will be tested. A person reads and approves it.`;

export function planPrompt(
  request: string,
  rejected: { plan: string; comment: string } | null,
): string {
  const again =
    rejected === null
      ? ''
      : `\n\nAn earlier plan was rejected.\n\n# The rejected plan\n\n${rejected.plan}\n\n# Why\n\n${rejected.comment}`;
  return `${planRules}\n\n# The request\n\n${request}${again}\n`;
}

export function codePrompt(request: string, plan: string): string {
  return `Carry out exactly the plan below in the repository in the current folder. It was approved as it
stands. Commit your changes or leave them uncommitted; do not push and do not switch branches.

# The request

${request}

# The approved plan

${plan}
`;
}

export function correctionPrompt(
  correction: string,
  known: { readonly request: string; readonly plan: string },
): string {
  return `The change on the current branch was tested and failed. Correct it in the repository in the
current folder, within the approved plan. Do not push and do not switch branches.

# What went wrong

${correction}

# The request

${known.request}

# The approved plan

${known.plan}
`;
}
