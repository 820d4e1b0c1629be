/** Reads API keys for other modules: names, hints, scopes, and keys that expire soon. */
import { selectTargets } from '../../history/audit/reader.ts'
import type { Mode, Scope } from '../../kernel/principal.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Reader, Row, Tx } from '../../platform/storage/database.ts'
import { join, prepareStatement, raw, sql } from '../../platform/storage/sql.ts'
import { WITHOUT_INSTALLATION_SCOPES } from './store.ts'

/** Returns the names of keys by their ids, also of revoked ones. */
export async function readKeyNames(
  from: Reader,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  const list = [...new Set(ids)]
  if (list.length === 0) return new Map()
  const rows = await from.arrays(sql`SELECT id, name FROM gh_api_keys WHERE id IN (${join(list)})`)
  return new Map(rows.map(([id, name]) => [String(id), String(name)]))
}

/** Returns why keys are rejected now, in words, by their ids; a valid key has no entry. */
export async function readKeyEnds(
  from: Reader,
  ids: Iterable<string>,
  nowMs: number,
): Promise<ReadonlyMap<string, string>> {
  const list = [...new Set(ids)]
  if (list.length === 0) return new Map()
  const rows = await from.all<{
    id: string
    revoked_at: number | null
    expires_at: number | null
    cidrs: string
  }>(sql`SELECT id, revoked_at, expires_at, cidrs FROM gh_api_keys WHERE id IN (${join(list)})`)
  return new Map(
    rows.flatMap(({ id, revoked_at, expires_at, cidrs }) => {
      if (revoked_at !== null) return [[id, `it was revoked at ${isoTime(revoked_at)}`]]
      if (expires_at !== null && expires_at <= nowMs) {
        return [[id, `it has expired at ${isoTime(expires_at)}`]]
      }
      const addresses = JSON.parse(cidrs) as string[]
      if (addresses.length === 0) return []
      return [[id, `it is valid from ${addresses.slice(0, 3).join(', ')} only, or lacks a scope`]]
    }),
  )
}

interface KeyScopesRow extends Row {
  readonly scope: number
  /** The scopes of the key, a JSON array. */
  readonly scopes: string
}

const scopesById = prepareStatement('SELECT scope, scopes FROM gh_api_keys WHERE id = ?')

/** Returns the scopes of a key, also of a revoked one. */
export const findKeyScopes = (from: Reader, id: string) => from.get<KeyScopesRow>(scopesById([id]))

const validKey = prepareStatement(`SELECT scopes FROM gh_api_keys
  WHERE scope = ? AND id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)`)

const validSecret = prepareStatement(`SELECT created_at FROM gh_api_key_secrets
  WHERE scope = ? AND key_id = ? AND created_at = ? AND (expires_at IS NULL OR expires_at > ?)`)

/** A key that was used, and when its secret was created; undefined: any secret counts. */
interface UsedKey {
  readonly scope: Scope
  readonly id: string
  readonly revision: number | undefined
}

/**
 * Returns the scopes of a valid key, as JSON, and holds it until the transaction ends; undefined:
 * it was revoked or has expired, or a newer secret has replaced that of `revision`.
 */
export async function holdKeyScopes(
  tx: Tx,
  { scope, id, revision }: UsedKey,
  now: number,
): Promise<string | undefined> {
  const [row] = await tx.hold<{ scopes: string }>(validKey([scope, id, now]))
  if (row && revision !== undefined && !(await tx.get(validSecret([scope, id, revision, now])))) {
    return undefined
  }
  return row?.scopes
}

const endOfKey = prepareStatement(`SELECT k.expires_at AS key_end, s.expires_at AS secret_end
  FROM gh_api_keys k LEFT JOIN gh_api_key_secrets s
    ON s.scope = k.scope AND s.key_id = k.id AND s.created_at = ?
  WHERE k.scope = ? AND k.id = ?`)

/** Returns when a key or its secret expires, in epoch milliseconds; undefined: never. */
export async function findKeyEnd(
  from: Reader,
  { scope, id, revision }: UsedKey,
): Promise<number | undefined> {
  const row = await from.get<{ key_end: number | null; secret_end: number | null }>(
    endOfKey([revision ?? null, scope, id]),
  )
  const ends = [row?.key_end, row?.secret_end].filter((end) => end != null)
  return ends.length === 0 ? undefined : Math.min(...ends)
}

export interface KeyHint {
  readonly name: string
  readonly hint: string
  /** From this instant on, the secret with this hint is the only valid one. */
  readonly sinceMs: number
}

/**
 * Returns the names and hints of keys by their ids, also of revoked ones. A hint is that of the
 * newest secret: requests before it, or in the overlap, have none.
 */
export async function readKeyHints(
  from: Reader,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, KeyHint>> {
  const list = [...new Set(ids)]
  if (list.length === 0) return new Map()
  const rows = await from.all<{ id: string; name: string; hint: string; since: number | null }>(
    sql`SELECT k.id, k.name, k.hint, MAX(COALESCE(s.expires_at, s.created_at)) AS since
      FROM gh_api_keys k LEFT JOIN gh_api_key_secrets s ON s.key_id = k.id
      WHERE k.id IN (${join(list)}) GROUP BY k.id, k.name, k.hint`,
  )
  return new Map(
    rows.map(({ id, name, hint, since }) => [id, { name, hint, sinceMs: Number(since ?? 0) }]),
  )
}

/** Rows of a list of keys that expire. */
const EXPIRING_MAX = 20

interface ExpiringKey extends Row {
  readonly id: string
  readonly name: string
  readonly expires_at: number
}

interface UsedExpiringKey extends ExpiringKey {
  readonly hint: string
  readonly customer: string
  readonly mode: Mode
  readonly last_used_at: number
}

interface ExpiryPeriod {
  readonly fromMs: number
  readonly toMs: number
  /** Keys that live for at most this long are not listed: each is for one task. */
  readonly temporaryMs: number
}

/**
 * Lists the keys that expire in a period and were used since an instant, soonest first, without
 * temporary test keys.
 */
export const listExpiringKeys = (
  from: Reader,
  { fromMs, toMs, temporaryMs, usedSinceMs }: ExpiryPeriod & { readonly usedSinceMs: number },
) =>
  from.all<UsedExpiringKey>(sql`SELECT id, name, hint, customer, mode, expires_at, last_used_at
    FROM gh_api_keys
    WHERE expires_at IS NOT NULL AND revoked_at IS NULL AND expires_at > ${fromMs}
      AND expires_at <= ${toMs} AND last_used_at >= ${usedSinceMs}
      AND (mode = 'live' OR expires_at - created_at > ${temporaryMs})
    ORDER BY expires_at LIMIT ${EXPIRING_MAX}`)

/**
 * Lists the keys of a customer that expire in a period, soonest first, without temporary keys and
 * without those of operators.
 */
export const listExpiringKeysOf = (
  from: Reader,
  scope: number,
  { fromMs, toMs, temporaryMs }: ExpiryPeriod,
) =>
  from.all<ExpiringKey>(sql`SELECT id, name, expires_at FROM gh_api_keys
    WHERE scope = ${scope} AND revoked_at IS NULL AND expires_at IS NOT NULL
      AND expires_at > ${fromMs} AND expires_at <= ${toMs}
      AND expires_at - created_at > ${temporaryMs} AND ${raw(WITHOUT_INSTALLATION_SCOPES)}
    ORDER BY expires_at, id LIMIT ${EXPIRING_MAX}`)

/** Reads the keys among `ids` that are not revoked. */
export const readLiveKeys = async (from: Reader, ids: readonly string[]) =>
  ids.length === 0
    ? []
    : from.all<Row & Record<'id' | 'name' | 'hint' | 'customer' | 'mode', string>>(sql`SELECT id,
        name, hint, customer, mode FROM gh_api_keys
      WHERE id IN (${join(ids)}) AND revoked_at IS NULL`)

/** A creation of an operator. */
export interface CreatedObject extends Row {
  readonly id: string
  readonly name: string
  /** The instant of the creation. */
  readonly at: number
}

export interface CreatedReading {
  readonly now: number
  readonly limit: number
}

export interface CreatedCredential extends CreatedObject {
  readonly customer: string
  readonly mode: Mode
  readonly scopes: string
}

/** Lists the valid keys that an operator created, the newest first. */
export const listKeysCreatedBy = (from: Reader, operator: string, { now, limit }: CreatedReading) =>
  from.all<CreatedCredential & { readonly last_used_at: number | null }>(sql`SELECT k.id, k.name,
      k.customer, k.mode, k.scopes, a.at, k.last_used_at
    FROM ${selectTargets('key.create', operator)} AS a JOIN gh_api_keys k ON k.id = a.target
    WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ${now})
    ORDER BY a.id DESC LIMIT ${limit}`)
