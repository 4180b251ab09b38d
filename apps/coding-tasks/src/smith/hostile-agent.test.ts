/** Agents that try to outlive their turn, or to have git do what they want. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { systemClock } from 'capataz/server';
import { until } from '../performer/fixtures/place.ts';
import { findStrays, ownerVariable } from '../performer/strays.ts';
import { createCommandAgent } from './command-agent.ts';
import { Smithy, sumScript } from './fixtures/smithy.ts';
import { customTemplate } from './presets.ts';

/** A plan, then this shell script as the code. `$OWNED` is a file that must never be there. */
async function codesWith(smithy: Smithy, script: string) {
  const owned = smithy.place.path('owned');
  const path = smithy.place.write(
    'agent.sh',
    `[ "$1" = plan ] && { echo the plan; exit 0; }\nOWNED=${owned}\n${script}\necho done\n`,
  );
  const environment = { ...smithy.place.environment };
  const template = customTemplate(['sh', path, '{phase}', '{answerFile}'], 'text');
  const agent = createCommandAgent(template, { clock: systemClock, environment, graceMs: 200 });
  await smithy.start(sumScript, { agent });
  const { payload } = await smithy.planned();
  await smithy.desk.order('tarea.aprobar_plan', { planId: payload.planId, intento: 2 });
  const isOver = () =>
    [...smithy.desk.all('resultado.pr_generada'), ...smithy.desk.all('resultado.error')].length > 0;
  await until(isOver);
  assert.deepEqual(smithy.desk.all('resultado.error'), []);
  const result = await smithy.desk.next('resultado.pr_generada');
  assert.equal(existsSync(owned), false, 'git did what the agent wanted');
  return result.payload;
}

const evil = `
git config filter.x.clean "touch $OWNED; cat"
git config core.sshCommand "touch $OWNED"
git config credential.helper "!touch $OWNED"
git config remote.origin.receivepack "touch $OWNED; git-receive-pack"
git config core.fsmonitor "touch $OWNED"
git config diff.external "touch $OWNED"
git config commit.gpgSign true
git config gpg.program "touch $OWNED"
echo '* filter=x diff=x' > .gitattributes
`;
const hooks = `
mkdir -p hooks && for hook in pre-commit post-commit pre-push post-checkout reference-transaction; do
printf '#!/bin/sh\\ntouch %s\\n' "$OWNED" > hooks/$hook; chmod +x hooks/$hook; done
git config core.hooksPath "$PWD/hooks"
cp -r hooks/. "$(git rev-parse --git-common-dir)/hooks/"
`;

test('git obeys nothing that an agent has configured: filters, hooks, helpers, programs', async () => {
  await using smithy = new Smithy();
  const { diff } = await codesWith(smithy, `${evil}${hooks}echo hi > made.txt`);
  assert.match(diff ?? '', /made\.txt/);
});

test('nor in a repository that it has put in the place of the worktree', async () => {
  await using smithy = new Smithy();
  const { diff } = await codesWith(
    smithy,
    `rm -rf .git && git init -q . && git commit -q --allow-empty -m x\n${evil}${hooks}echo hi > made.txt`,
  );
  assert.match(diff ?? '', /made\.txt/);
});

test('an answer that is a pipe, and daemons in sessions of their own: the turn ends, and they with it', async () => {
  await using smithy = new Smithy();
  await codesWith(
    smithy,
    'mkfifo "$2"; setsid sh -c "sleep 600 & sleep 600" >/dev/null 2>&1 & echo hi > made.txt',
  );
  await until(() => findStrays(ownerVariable, smithy.place.path('smith')).length === 0);
  assert.deepEqual(smithy.worktrees(), []);
});

test('a submodule and a repository within: the change is handed in, and neither is followed', async () => {
  await using smithy = new Smithy();
  const { diff } = await codesWith(
    smithy,
    [
      'mkdir inner empty && (cd empty && git init -q .)',
      '(cd inner && git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x)',
      `printf '[submodule "s"]\\n\\tpath = s\\n\\turl = ext::touch %s\\n' "$OWNED" > .gitmodules`,
      'echo hi > made.txt',
    ].join('\n'),
  );
  assert.match(diff ?? '', /made\.txt/);
  assert.deepEqual(readdirSync(smithy.place.path('smith', 'answers')), []);
});

test('what an agent configures while it plans is not obeyed by the next fetch of the repository', async () => {
  await using smithy = new Smithy();
  const owned = smithy.place.path('owned');
  const path = smithy.place.write(
    'agent.sh',
    `OWNED=${owned}\n${evil}git config remote.origin.uploadpack "touch $OWNED; git-upload-pack"\necho the plan\n`,
  );
  const { environment } = smithy.place;
  const template = customTemplate(['sh', path], 'text');
  const agent = createCommandAgent(template, { clock: systemClock, environment });
  await smithy.start(sumScript, { agent });
  await smithy.planned('task-1');
  await smithy.planned('task-2');
  assert.equal(existsSync(owned), false, 'git did what the agent wanted');
});

test('a git of the agent that was killed at work: its lock is taken away', async () => {
  await using smithy = new Smithy();
  const { diff } = await codesWith(
    smithy,
    'touch "$(git rev-parse --git-dir)/index.lock"; echo hi > made.txt',
  );
  assert.match(diff ?? '', /made\.txt/);
});

for (const [what, script] of [
  ['the objects', 'rm -rf "$(git rev-parse --git-common-dir)/objects"'],
  ['the whole copy', 'rm -rf "$(git rev-parse --git-common-dir)"'],
  ['its HEAD', 'echo nonsense > "$(git rev-parse --git-common-dir)/HEAD"'],
] as const) {
  test(`an agent destroys ${what} of the repository it works in: its own task fails, the next one does not`, async () => {
    await using smithy = new Smithy();
    const { desk, place } = smithy;
    const path = place.write('agent.sh', `[ "$1" = plan ] || { ${script}; }\necho done\n`);
    const { environment } = place;
    const template = customTemplate(['sh', path, '{phase}'], 'text');
    const agent = createCommandAgent(template, { clock: systemClock, environment });
    const service = await smithy.start(sumScript, { agent });
    const { payload } = await smithy.planned();
    await desk.order('tarea.aprobar_plan', { planId: payload.planId, intento: 2 });
    await desk.next('resultado.error');
    const second = await smithy.planned('task-2');
    const order = { planId: second.payload.planId, intento: 2 };
    await desk.order('tarea.aprobar_plan', order, { taskId: 'task-2' });
    await until(() => desk.all('resultado.error').length === 2);
    await service.stop();
    await smithy.start(sumScript, { agent });
    await smithy.planned('task-3');
    assert.deepEqual(smithy.worktrees(), []);
  });
}

test('an agent that changes nothing and says a lot about it: the error is one that can be read', async () => {
  await using smithy = new Smithy();
  const { desk, place } = smithy;
  const path = place.write(
    'agent.sh',
    '[ "$1" = plan ] && { echo the plan; exit 0; }\nyes nothing | head -c 20000000\n',
  );
  const { environment } = place;
  const template = customTemplate(['sh', path, '{phase}'], 'text');
  const agent = createCommandAgent(template, { clock: systemClock, environment });
  await smithy.start(sumScript, { agent });
  const { payload } = await smithy.planned();
  await desk.order('tarea.aprobar_plan', { planId: payload.planId, intento: 2 });
  const error = await desk.next('resultado.error');
  assert.equal(error.payload.codigo, 'sin_cambios');
  assert.ok(error.payload.mensaje.length < 10_000, `${error.payload.mensaje.length} characters`);
});
