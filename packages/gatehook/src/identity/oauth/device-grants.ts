/**
 * Device grants (§16.6, RFC 8628): a device code of 256 bits that the client polls with, and a user
 * code of eight consonants that a person types. Both are stored as SHA-256, valid for 600 s and one
 * session. The row outlives them, so that polls learn the reason.
 */
import { randomText } from '../../kernel/base62.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Random } from '../../kernel/random.ts'
import { sha256 } from '../../kernel/secret.ts'
import type { Reader, Row, Tx } from '../../platform/storage/database.ts'
import { sql } from '../../platform/storage/sql.ts'

export const LIFETIME_S = 600
export const INTERVAL_S = 5
const DEVICE_CODE_BYTES = 32
/** Consonants spell no words, and none of them looks like a digit (RFC 8628 §6.1). */
const USER_CODE_ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ'
const USER_CODE_CHARACTERS = 8
/** Grants of an address that wait for a person at once, each in a place of its own. */
export const MAX_WAITING_PER_ADDRESS = 10
const PLACES = Array.from({ length: MAX_WAITING_PER_ADDRESS }, (_, number) => number)
/** Each conflict is a parallel request that took a place, or a code that exists by chance. */
const INSERT_ATTEMPTS = 2 * MAX_WAITING_PER_ADDRESS

interface DeviceRequest {
  readonly clientId: string
  readonly scope: Scope
  readonly scopes: readonly string[]
  /** The resources that the request named; undefined: the standard audience. */
  readonly audience: readonly string[] | undefined
  readonly address: string
  readonly addressBlock: string
}

export interface DeviceGrantRow extends Row {
  readonly hash: Uint8Array
  readonly client_id: string
  readonly scope: number
  readonly scopes: string
  readonly audience: string | null
  readonly address: string
  readonly state: 'pending' | 'approved' | 'denied' | 'used'
  readonly interval_s: number
  readonly polled_at: number | null
  /** The person who approved it, with the revision at that time; null before. */
  readonly subject: string | null
  readonly revision: number | null
  readonly created_at: number
  readonly expires_at: number
}

/** Returns a user code as it is stored: without case, hyphens and spaces. */
const normalize = (code: string): string => code.toUpperCase().replace(/[\s-]/g, '')

/** Returns a user code as devices display it: `WDJB-MJHT`. */
export const displayUserCode = (code: string): string => {
  const text = normalize(code)
  return `${text.slice(0, USER_CODE_CHARACTERS / 2)}-${text.slice(USER_CODE_CHARACTERS / 2)}`
}

interface WaitingGrants {
  readonly places: ReadonlySet<number>
  readonly isFull: boolean
  /** When the first of them expires, at the latest. */
  readonly untilMs: number
}

/** Returns the grants of an address that wait for a person. */
export async function findWaitingGrants(
  from: Reader,
  block: string,
  now: number,
): Promise<WaitingGrants> {
  const rows = await from.all(sql`SELECT place, expires_at FROM gh_device_grants
    WHERE address_block = ${block} AND place IS NOT NULL AND expires_at > ${now}`)
  const ends = rows.map(({ expires_at }) => Number(expires_at))
  return {
    places: new Set(rows.map(({ place }) => Number(place))),
    isFull: rows.length >= MAX_WAITING_PER_ADDRESS,
    untilMs: Math.min(now + LIFETIME_S * 1000, ...ends),
  }
}

interface DeviceCodes {
  readonly deviceCode: string
  readonly userCode: string
}

/**
 * Stores a new grant in a free place of its address, and returns its codes; undefined if all are
 * taken. Each place has one waiting grant, which an index guards, so that no request locks a row.
 */
export async function insertDeviceGrant(
  tx: Tx,
  request: DeviceRequest,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<DeviceCodes | undefined> {
  const { addressBlock: block } = request
  const deviceCode = random.bytes(DEVICE_CODE_BYTES).toString('base64url')
  const now = clock.now()
  await tx.run(sql`UPDATE gh_device_grants SET place = NULL
    WHERE address_block = ${block} AND place IS NOT NULL AND expires_at <= ${now}`)
  for (let attempt = 0; attempt < INSERT_ATTEMPTS; attempt++) {
    const { places } = await findWaitingGrants(tx, block, now)
    const place = PLACES.find((number) => !places.has(number))
    if (place === undefined) return undefined
    const userCode = randomText(random, USER_CODE_ALPHABET, USER_CODE_CHARACTERS)
    const inserted = await tx.run(sql`INSERT INTO gh_device_grants (hash, user_code_hash, client_id,
      scope, scopes, audience, address, address_block, place, state, interval_s, created_at,
      expires_at)
      VALUES (${sha256(deviceCode)}, ${sha256(userCode)}, ${request.clientId}, ${request.scope},
              ${JSON.stringify(request.scopes)},
              ${request.audience ? JSON.stringify(request.audience) : null}, ${request.address},
              ${block}, ${place}, 'pending', ${INTERVAL_S}, ${now}, ${now + LIFETIME_S * 1000})
      ON CONFLICT DO NOTHING`)
    if (inserted === 1) return { deviceCode, userCode: displayUserCode(userCode) }
  }
  throw new Error('bug: no attempt found a free place and a new user code')
}

const COLUMNS = sql`hash, client_id, scope, scopes, audience, address, state, interval_s, polled_at,
  subject, revision, created_at, expires_at`

/** Returns the grant that waits for a person with a user code. */
export const findByUserCode = (from: Reader, userCode: string, now: number) =>
  from.get<DeviceGrantRow>(sql`SELECT ${COLUMNS} FROM gh_device_grants
    WHERE user_code_hash = ${sha256(normalize(userCode))} AND state = 'pending'
      AND expires_at > ${now}`)

export const findDeviceGrant = (from: Reader, hash: Uint8Array) =>
  from.get<DeviceGrantRow>(sql`SELECT ${COLUMNS} FROM gh_device_grants WHERE hash = ${hash}`)

export const lockDeviceGrant = (tx: Tx, hash: Uint8Array) =>
  tx.lock<DeviceGrantRow>(sql`SELECT ${COLUMNS} FROM gh_device_grants WHERE hash = ${hash}`)

interface DeviceApproval {
  readonly subject: string
  readonly revision: number
  /** When the person signed in, in epoch milliseconds. */
  readonly authenticatedAt: number
  readonly scopes: readonly string[]
}

/** Stores the decision of a person; undefined: denied. Returns false if the grant has ended. */
export async function decideDeviceGrant(
  tx: Tx,
  hash: Uint8Array,
  now: number,
  approval?: DeviceApproval,
): Promise<boolean> {
  const scopes = approval ? JSON.stringify(approval.scopes) : null
  const changed = await tx.run(sql`UPDATE gh_device_grants
    SET state = ${approval ? 'approved' : 'denied'}, place = NULL,
      subject = ${approval?.subject ?? null}, revision = ${approval?.revision ?? null},
      authenticated_at = ${approval?.authenticatedAt ?? null}, scopes = COALESCE(${scopes}, scopes)
    WHERE hash = ${hash} AND state = 'pending' AND expires_at > ${now}`)
  return changed === 1
}

/**
 * Marks an approved grant as used and returns it. One statement decides, so one of two concurrent
 * polls opens a session.
 */
export async function redeemDeviceGrant(tx: Tx, hash: Uint8Array, clientId: string, now: number) {
  const row = await tx.get(sql`UPDATE gh_device_grants SET state = 'used'
    WHERE hash = ${hash} AND client_id = ${clientId} AND state = 'approved'
      AND expires_at > ${now} RETURNING scopes, audience, authenticated_at`)
  if (!row) return undefined
  return {
    authenticatedAt: Number(row.authenticated_at),
    scopes: JSON.parse(row.scopes) as string[],
    audience: row.audience === null ? undefined : (JSON.parse(row.audience) as string[]),
  }
}

export const recordPoll = (tx: Tx, hash: Uint8Array, now: number, intervalS: number) =>
  tx.run(sql`UPDATE gh_device_grants SET polled_at = ${now}, interval_s = ${intervalS}
    WHERE hash = ${hash}`)

/** Deletes the grants of a person and client that opened no session yet. */
export const deleteDeviceGrants = (tx: Tx, scope: Scope, subject: string, clientId: string) =>
  tx.run(sql`DELETE FROM gh_device_grants WHERE scope = ${scope} AND subject = ${subject}
    AND client_id = ${clientId} AND state = 'approved'`)
