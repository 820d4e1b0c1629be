/**
 * Finds keys that few addresses used, and that new addresses use now, in the request log. Each
 * reading examines few rows of few keys: those of the newest requests, with most addresses.
 */
import { addressBlock } from '../../kernel/address.ts'
import type { Reader, Row } from '../../platform/storage/database.ts'
import { prepareStatement, sql } from '../../platform/storage/sql.ts'
import { instantOf, positionAt } from './position.ts'

/** A new address is one since this time. */
const NEW_WITHIN_MS = 3_600_000
/** The first requests of a key in the log are of its owner. */
const FIRST_REQUESTS = 20
/** Of a key with more addresses a further one says nothing. */
const EARLIER_BLOCKS_MAX = 3
const RECENT_REQUESTS = 300
/** Requests before the period, in which an address is sought that the first requests lack. */
const EARLIER_REQUESTS = 1_000
const NEWEST_REQUESTS = 2_000
const KEYS_MAX = 20
/** New addresses of one key that are named. */
const NAMED_MAX = 5

export interface AddressChange {
  readonly key: string
  /** The new addresses, at most five. */
  readonly addresses: readonly string[]
  /** The number of earlier addresses. */
  readonly earlier: number
  /** The first request from a new address, in epoch milliseconds. */
  readonly sinceMs: number
}

interface LoggedAddress extends Row {
  /** `first`, `earlier` or `recent`. */
  readonly era: string
  readonly ip: string
  readonly position: number
}

const isOfKey = "key_id = ? AND ip <> ''"
const addressesOf = prepareStatement(`SELECT era, ip, position FROM (
    SELECT * FROM (SELECT 'first' AS era, ip, position FROM gh_monitoring_requests
      WHERE ${isOfKey} ORDER BY position LIMIT ${FIRST_REQUESTS}) AS first_ones
    UNION ALL SELECT * FROM (SELECT 'earlier', ip, position FROM gh_monitoring_requests
      WHERE ${isOfKey} AND position < ? ORDER BY position DESC LIMIT ${EARLIER_REQUESTS}) AS earlier
    UNION ALL SELECT * FROM (SELECT 'recent', ip, position FROM gh_monitoring_requests
      WHERE ${isOfKey} AND position >= ? ORDER BY position DESC LIMIT ${RECENT_REQUESTS}) AS recent
  ) AS logged`)

/** Returns the keys with new addresses. */
export async function readAddressChanges(store: Reader, now: number): Promise<AddressChange[]> {
  const from = positionAt(now - NEW_WITHIN_MS)
  const keys = await store.arrays(sql`SELECT key_id FROM (SELECT key_id, ip
      FROM gh_monitoring_requests WHERE position >= ${from}
      ORDER BY position DESC LIMIT ${NEWEST_REQUESTS}) AS newest
    WHERE key_id IS NOT NULL GROUP BY key_id ORDER BY COUNT(DISTINCT ip) DESC LIMIT ${KEYS_MAX}`)
  const changes: AddressChange[] = []
  for (const [id] of keys) {
    const key = String(id)
    const rows = await store.all<LoggedAddress>(addressesOf([key, key, from, key, from]))
    const change = findAddressChange(rows)
    if (change) changes.push({ key, ...change })
  }
  return changes
}

function findAddressChange(rows: readonly LoggedAddress[]): Omit<AddressChange, 'key'> | undefined {
  const of = (...eras: readonly string[]) => rows.filter(({ era }) => eras.includes(era))
  const earlier = new Set(of('first', 'earlier').map(({ ip }) => addressBlock(ip)))
  if (of('first').length < FIRST_REQUESTS || earlier.size > EARLIER_BLOCKS_MAX) return undefined
  const added = of('recent').filter(({ ip }) => !earlier.has(addressBlock(ip)))
  if (added.length === 0) return undefined
  return {
    addresses: [...new Set(added.map(({ ip }) => ip))].slice(0, NAMED_MAX),
    earlier: earlier.size,
    sinceMs: Math.min(...added.map(({ position }) => instantOf(Number(position)))),
  }
}
