import assert from 'node:assert/strict';
import { test } from 'node:test';
import { branchRef, checkedRepository, hasPassword, pullRequestPlace } from './repository-url.ts';

const refused = (text: string) => () =>
  assert.throws(() => checkedRepository(text), { name: 'RepositoryRefused' }, text);

test('C-n repositories that git would take for options or commands are refused, and so are passwords', () => {
  for (const text of [
    ...['--upload-pack=touch /tmp/owned', '-oProxyCommand=x', 'ext::sh -c x', 'fd::3'],
    ...['https://-oProxyCommand=x/y', 'git@-oProxyCommand=x:y/z', 'relative/path', ''],
    ...['/a/../../etc', 'https://host/a/../b', '/a#b', '/a\nb', 'file://\0', 'ftp://host/a'],
    ...['https://user:hush@host/a', 'https://hush@host/a', 'ssh://git:hush@host/a'],
  ])
    refused(text)();
  for (const text of ['/a b/c.git', 'ssh://git@host:22/a', 'git@host:a/b.git', 'file:///a'])
    assert.equal(checkedRepository(text), text);
});

test('C-n a refusal of a password does not repeat it', () => {
  assert.throws(
    () => checkedRepository('https://user:hush@host/a'),
    (error: Error) => !error.message.includes('hush'),
  );
  assert.equal(hasPassword('ssh://git@host/a'), false);
  assert.throws(() => pullRequestPlace('https://hush@host/a#b'), { name: 'RepositoryRefused' });
});

test('C-n branches may be named as git lets them, and no option or other ref', () => {
  for (const name of ['main', 'fix/#12', 'user@host/é', 'v1+2', '_x', 'a.b', 'feature/ümlaut'])
    assert.equal(branchRef(name), `refs/heads/${name}`);
  for (const name of [
    ...['-x', '--upload-pack=x', 'a b', 'a..b', 'a~1', 'a^', 'a:b', 'a?', 'a*', 'a[', 'a\\b'],
    ...['.a', 'a/.b', 'a.', 'a.lock', 'a//b', '/a', 'a/', 'a@{1}', '@', '', 'a\nb', 'a\u007f'],
  ])
    assert.throws(() => branchRef(name), { name: 'RepositoryRefused' }, JSON.stringify(name));
});
