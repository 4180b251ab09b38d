const bytesOfToken = 4;

/** The fake's tokenizer: a token for every four bytes begun. */
export function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesOfToken);
}

/** The beginning of a text that has so many tokens at most. */
export function cutToTokens(text: string, tokens: number): string {
  let bytes = 0;
  let cut = '';
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > tokens * bytesOfToken) break;
    cut += character;
  }
  return cut;
}
