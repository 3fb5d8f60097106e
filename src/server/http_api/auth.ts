/**
 * Who calls the HTTP API: Basic (user and password) or Bearer (token). Without any credentials configured everybody may do
 * everything: the server then listens on this machine only, unless told otherwise.
 */
import { createHash, timingSafeEqual } from 'node:crypto';

export interface ApiUser {
  readonly name: string;
  readonly password: string;
  /** May use the oracle and decide transactions of others. Default false. */
  readonly admin?: boolean;
}

export interface ApiToken {
  readonly token: string;
  readonly name: string;
  readonly admin?: boolean;
}

export interface ApiAuth {
  readonly users?: readonly ApiUser[];
  readonly tokens?: readonly ApiToken[];
}

/** Somebody whom the server knows. */
export interface Caller {
  readonly name: string;
  readonly isAdmin: boolean;
}

const ANYBODY: Caller = { name: 'anonymous', isAdmin: true };

const digest = (text: string): Uint8Array => createHash('sha256').update(text, 'utf8').digest();

/** Compares secrets in a time that tells nothing of them. */
const isSame = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));

export class Authenticator {
  readonly #users: readonly ApiUser[];
  readonly #tokens: readonly ApiToken[];

  constructor(auth: ApiAuth = {}) {
    this.#users = auth.users ?? [];
    this.#tokens = auth.tokens ?? [];
  }

  get isOpen(): boolean {
    return this.#users.length === 0 && this.#tokens.length === 0;
  }

  /** The caller of an Authorization header; null: nobody whom we know. */
  callerOf(header: string | undefined): Caller | null {
    if (this.isOpen) return ANYBODY;
    const match = /^(Basic|Bearer) +([A-Za-z0-9+/=._~-]+) *$/i.exec(header ?? '');
    if (match === null) return null;
    const secret = match[2]!;
    return match[1]!.toLowerCase() === 'bearer' ? this.#ofToken(secret) : this.#ofUser(secret);
  }

  #ofToken(secret: string): Caller | null {
    const found = this.#tokens.find(({ token }) => isSame(token, secret));
    return found === undefined ? null : { name: found.name, isAdmin: found.admin === true };
  }

  #ofUser(secret: string): Caller | null {
    const text = Buffer.from(secret, 'base64').toString('utf8');
    const colon = text.indexOf(':');
    if (colon < 0) return null;
    const name = text.slice(0, colon);
    const found = this.#users.find((user) => user.name === name);
    const isRight = isSame(found?.password ?? '', text.slice(colon + 1)) && found !== undefined;
    return isRight ? { name, isAdmin: found.admin === true } : null;
  }
}
