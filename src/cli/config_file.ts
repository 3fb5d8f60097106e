/**
 * The config file: a JSON object of knobs (embedded/knobs.ts) and, under `http`, who may call the HTTP API.
 *
 *     { "tso_service_window_duration_ms": 2000,
 *       "http": { "users": [{ "name": "root", "password": "…", "admin": true }], "tokens": [{ "token": "…", "name": "job" }],
 *                 "doris_status_codes": false, "tso_master_url": "http://host:16030" } }
 */
import { knobSet, knobsOfEnvironment } from '../embedded/index.ts';
import type { KnobSet } from '../embedded/index.ts';
import type { Env } from '../io/index.ts';
import { IllegalArgumentException } from '../model/index.ts';
import type { ApiOptions, ApiToken, ApiUser } from '../server/index.ts';

export interface Config {
  readonly knobs: KnobSet;
  /** Some knob is given. */
  readonly hasKnobs: boolean;
  readonly api: ApiOptions;
}

export interface ConfigSources {
  readonly env: Env;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Default: CELLAR_CONFIG. */
  readonly file?: string;
  /** `NAME=VALUE`. */
  readonly flags?: readonly string[];
}

/** File, environment and flags, the later over the earlier. Throws IllegalArgumentException. */
export async function readConfig(sources: ConfigSources): Promise<Config> {
  const path = sources.file ?? sources.variables['CELLAR_CONFIG'];
  const file = path === undefined || path === '' ? {} : await readFile(sources.env, path);
  const { http, ...knobs } = file;
  const flags = Object.fromEntries((sources.flags ?? []).map(flagOf));
  const all = { ...knobs, ...knobsOfEnvironment(sources.variables), ...flags };
  return {
    knobs: knobSet([all]),
    hasKnobs: Object.keys(all).length > 0,
    api: apiOf(http, path ?? ''),
  };
}

async function readFile(env: Env, path: string): Promise<Record<string, unknown>> {
  const text = Buffer.from(await env.fs.readFile(path)).toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new IllegalArgumentException(
      `${path} is no JSON: ${error instanceof Error ? error.message : ''}`,
    );
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new IllegalArgumentException(`${path} holds no JSON object`);
}

function flagOf(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new IllegalArgumentException(`'${text}' is no NAME=VALUE`);
  return [text.slice(0, at), text.slice(at + 1)];
}

function apiOf(http: unknown, path: string): ApiOptions {
  if (http === undefined) return {};
  if (typeof http !== 'object' || http === null)
    throw new IllegalArgumentException(`${path}: http is an object`);
  const members = http as Readonly<Record<string, unknown>>;
  const listOf = <T>(name: string): readonly T[] => {
    const list = members[name];
    if (list === undefined) return [];
    if (!Array.isArray(list)) throw new IllegalArgumentException(`${path}: http.${name} is a list`);
    return list as T[];
  };
  const users = listOf<ApiUser>('users');
  for (const { name, password } of users) {
    if (typeof name !== 'string' || typeof password !== 'string' || password === '') {
      throw new IllegalArgumentException(`${path}: a user has a name and a password`);
    }
  }
  const tokens = listOf<ApiToken>('tokens');
  for (const { token, name } of tokens) {
    if (typeof token !== 'string' || token === '' || typeof name !== 'string') {
      throw new IllegalArgumentException(`${path}: a token has a name`);
    }
  }
  const master = members['tso_master_url'];
  return {
    auth: { users, tokens },
    dorisStatusCodes: members['doris_status_codes'] === true,
    ...(typeof master === 'string' ? { tsoMasterUrl: master } : {}),
  };
}
