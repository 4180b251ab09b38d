/**
 * Whether a name falls under a topic pattern, by the rules of AMQP: `*` stands for exactly one word,
 * `#` for any number of them. Goes back only to the last `#`, so that no pattern takes long.
 */
export function topicMatches(pattern: string, name: string): boolean {
  const wanted = pattern.split('.');
  const words = name.split('.');
  let next = 0;
  let word = 0;
  let lastHash = -1;
  let resumeAt = 0;
  while (word < words.length) {
    if (wanted[next] === '#') {
      lastHash = next;
      next += 1;
      resumeAt = word;
    } else if (next < wanted.length && (wanted[next] === '*' || wanted[next] === words[word])) {
      next += 1;
      word += 1;
    } else if (lastHash !== -1) {
      next = lastHash + 1;
      resumeAt += 1;
      word = resumeAt;
    } else return false;
  }
  while (wanted[next] === '#') next += 1;
  return next === wanted.length;
}
