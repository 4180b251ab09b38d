/**
 * A glob as a regular expression over a whole text: `*`, `?`, `[abc]`, `[a-c]` and `[!abc]`;
 * everything else stands for itself.
 */
export function globPattern(glob: string): RegExp {
  const source = glob.replaceAll(
    /\*|\?|\[(!?)([^\]]+)\]|[\s\S]/g,
    (part, negation: string | undefined, members: string | undefined) => {
      if (part === '*') return '.*';
      if (part === '?') return '.';
      if (members === undefined) return part.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&');
      return `[${negation === '!' ? '^' : ''}${members.replaceAll(/[\\^[]/g, '\\$&')}]`;
    },
  );
  return new RegExp(`^${source}$`, 's');
}
