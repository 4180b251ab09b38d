import { createHmac, timingSafeEqual } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { CapatazError } from '../protocol/errors.ts';
import { encodedFileName } from '../protocol/files.ts';
import type { Random } from '../std/random.ts';
import type { FileLink, RedeemedLink } from './contract.ts';

/** A key of 256 bits in base64url. */
const keyLength = 43;

/** Signs what links of our own server say, so that nobody can change it or make one up. */
export class LinkKey {
  readonly #read: () => Promise<string>;
  #key: Promise<string> | null = null;

  private constructor(read: () => Promise<string>) {
    this.#read = read;
  }

  /** Outlives restarts, and the links with it. */
  static inFile(path: string, random: Random): LinkKey {
    return new LinkKey(() => readKey(path, random));
  }

  /** Its links end with this process. */
  static ofProcess(random: Random): LinkKey {
    const key = random.secret();
    return new LinkKey(() => Promise.resolve(key));
  }

  /** @param parts what the link is for first, so that no link can stand for one of another kind */
  async sign(parts: readonly string[]): Promise<string> {
    return (await this.#digest(parts)).toString('base64url');
  }

  async hasSigned(parts: readonly string[], signature: string): Promise<boolean> {
    const wanted = await this.#digest(parts);
    const given = Buffer.from(signature, 'base64url');
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  }

  async #digest(parts: readonly string[]): Promise<Buffer> {
    this.#key ??= this.#read().catch((error: unknown) => {
      this.#key = null;
      throw error;
    });
    return createHmac('sha256', await this.#key)
      .update(JSON.stringify(parts))
      .digest();
  }
}

async function readKey(path: string, random: Random): Promise<string> {
  const known = await readFile(path, 'utf8').catch(() => '');
  if (known.length === keyLength) return known;
  const key = random.secret();
  // Whole or not at all: a key that a crash cut short would sign, too.
  const draft = `${path}.${random.id()}`;
  await writeFile(draft, key, { mode: 0o600 });
  try {
    // What is there is of no length that a key has. Another server may be making one just now.
    if (known === '') await link(draft, path);
    else await rename(draft, path);
    return key;
  } catch (error) {
    const made = await readFile(path, 'utf8').catch(() => '');
    if (made.length === keyLength) return made;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Links to files of our own server: a signature over what may be fetched, and until when. */
export class LinkSigner {
  readonly #key: LinkKey;

  constructor(key: LinkKey) {
    this.#key = key;
  }

  async link(jobId: string, name: string, expiresAt: number): Promise<FileLink> {
    // Whole seconds, and never longer than was asked for.
    const expires = String(Math.floor(expiresAt / 1_000));
    const signature = await this.#key.sign(['GET', jobId, name, expires]);
    const query = new URLSearchParams({ expires, signature });
    return {
      url: `/_public/files/${jobId}/${encodedFileName(name)}?${query}`,
      expiresAt: Number(expires) * 1_000,
    };
  }

  /** @throws LINK_INVALID */
  async check({ jobId, name, expires, signature }: RedeemedLink, now: number): Promise<void> {
    const isOurs = await this.#key.hasSigned(['GET', jobId, name, expires], signature);
    // Only a signature of ours says that `expires` is a number.
    if (isOurs && Number(expires) * 1_000 > now) return;
    throw new CapatazError('LINK_INVALID', 'this link has expired or was changed: ask for another');
  }
}
