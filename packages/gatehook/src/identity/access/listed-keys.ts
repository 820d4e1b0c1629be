/**
 * Keys with facts that change without the key: the end of an overlap of secrets, and the requests
 * that were rejected lately. The entity tag of a single key does not depend on them.
 */

import type { Clock } from '../../kernel/clock.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Reader, Row } from '../../platform/storage/database.ts'
import { join, sql } from '../../platform/storage/sql.ts'
import { b, type JsonOf, type ValuesOf } from '../../protocol/fields/members.ts'
import type { Call } from '../../protocol/http/call.ts'
import { entityTag } from '../../protocol/http/conditional.ts'
import { parameterFailure } from '../../protocol/http/query.ts'
import type { Collection } from '../../protocol/lists/collection.ts'
import { type AddedMembers, createList, type EngineList } from '../../protocol/lists/definition.ts'
import type { Lister } from '../../protocol/lists/list.ts'
import { withCustomerIds } from './admin-handlers.ts'
import type { Administration } from './administration.ts'
import { currentKeys, keyColumns, keyMembers, keyTable, storedKeys } from './key-members.ts'

export const overlapEnd = b
  .time()
  .nullable()
  .describe('The end of an older secret that is still valid; null without one.')
  .example(null)

export const listedKey = b
  .object({
    ...keyMembers,
    revoked_at: b.time().nullable().describe('Null: it is not revoked.').example(null),
    overlap_ends_at: overlapEnd,
    refused_24h: b
      .int(0)
      .nullable()
      .describe('Responses 401 and 403 of about 24 hours; null if they are not counted.')
      .example(0),
  })
  .named('ListedApiKey')
  .columns({
    ...keyColumns,
    id: {},
    customer: {},
    mode: {},
    api_version: { title: 'version', as: 'code' },
    cidrs: { title: 'addresses', none: 'every address', isFact: true },
    overlap_ends_at: { title: 'old secret ends', isFact: true },
    refused_24h: { title: 'rejected, 24 h', isFact: true },
    revoked_at: { none: 'no' },
    state: {
      states: [
        ['revoked_at', { '*': ['bad', 'revoked'] }],
        ['refused_24h', { '*': ['bad', '{refused_24h} rejected'] }],
        ['last_used_at', { null: ['idle', 'never used'], '*': ['ok', 'active'] }],
      ],
    },
  })

export type ListedKeyJson = JsonOf<typeof listedKey>

export const keyQuery = {
  scope: b.line(200).optional().describe('A scope that the key holds.'),
  revoked: b
    .oneOf(['false', 'true', 'any'])
    .optional()
    .describe('`true`: the revoked keys; `any`: all keys; default: those that are not revoked.'),
}

type KeyQuery = ValuesOf<typeof keyQuery>

/** Returns the rejected requests of keys in the last 24 hours, by id; undefined: not counted. */
export type ReadRefusals = (
  keyIds: readonly string[],
) => Promise<ReadonlyMap<string, number> | undefined>

const tableOf = (rows: Partial<EngineList>) =>
  createList({
    ...storedKeys,
    ...rows,
    row: listedKey,
    path: '/admin/keys',
    added: ['overlap_ends_at', 'refused_24h'],
    parameters: Object.keys(keyQuery),
  })

const tables = {
  false: tableOf(currentKeys),
  true: tableOf({
    name: 'revoked_api_keys',
    sort: [...storedKeys.sort, 'revoked_at'],
    indexes: [['id'], ['name', 'id'], ['revoked_at', 'id']],
    where: 'revoked_at IS NOT NULL',
  }),
  any: tableOf({ name: 'all_api_keys', indexes: [['id']] }),
}

/** Reads the end of the overlap of a key's secrets. */
export const addedOverlap = (clock: Clock): AddedMembers => ({
  names: ['overlap_ends_at'],
  async read(from, rows) {
    const ids = rows.map(({ id }) => id as string)
    const ends = await readOverlaps(from, ids, clock.now())
    return ids.map((id) => ({ overlap_ends_at: ends.get(id) ?? null }))
  },
})

const addedRefusals = (readRefusals: ReadRefusals): AddedMembers => ({
  names: ['refused_24h'],
  async read(_, rows) {
    const ids = rows.map(({ id }) => id as string)
    const refusals = await readRefusals(ids)
    return ids.map((id) => ({ refused_24h: refusals ? (refusals.get(id) ?? 0) : null }))
  },
})

/** Returns the selected keys. Scopes are declared names, never request data. */
function selectKeys(
  { scopes }: Pick<Administration, 'scopes'>,
  { scope, revoked = 'false' }: KeyQuery,
): Collection {
  const { collection } = tables[revoked]
  if (scope === undefined) return collection
  if (!scopes.has(scope)) {
    throw parameterFailure('invalid_parameter', 'scope', 'is not a known scope')
  }
  const visible = { condition: `replace(scopes, '"${scope}"', '') <> scopes`, columns: ['scopes'] }
  return { ...collection, name: `${collection.name} with ${scope}`, visible }
}

export async function listKeys(
  admin: Administration,
  call: Call,
  query: KeyQuery,
  { list, readRefusals }: { readonly list: Lister; readonly readRefusals: ReadRefusals },
) {
  const added = [addedOverlap(admin.clock), addedRefusals(readRefusals)]
  const named = await withCustomerIds(admin.db, call)
  return list(named, selectKeys(admin, query), tables.any.view, { added })
}

/**
 * Reads a single key with the members of the list. Its entity tag is that of the stored key: a
 * rejected request does not make `If-Match` of a change fail.
 */
export async function readKey(
  { db, clock }: Pick<Administration, 'db' | 'clock'>,
  id: string,
  readRefusals: ReadRefusals,
): Promise<{ readonly key: ListedKeyJson; readonly etag: string }> {
  const key = await keyTable.read(db, id)
  const [overlaps, refusals] = await Promise.all([
    readOverlaps(db, [id], clock.now()),
    readRefusals([id]),
  ])
  const facts = {
    revoked_at: null,
    overlap_ends_at: overlaps.get(id) ?? null,
    refused_24h: refusals ? (refusals.get(id) ?? 0) : null,
  }
  return { key: { ...key, ...facts }, etag: entityTag(JSON.stringify(key)) }
}

/** Returns the ends of overlaps of secrets by the id of the key. */
async function readOverlaps(
  from: Reader,
  ids: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, string>> {
  const rows = await from.all<Row & { key_id: string; ends_at: number }>(sql`SELECT key_id,
    MAX(expires_at) AS ends_at FROM gh_api_key_secrets
    WHERE key_id IN (${join(ids.map((id) => sql`${id}`))}) AND expires_at > ${now}
    GROUP BY key_id`)
  return new Map(rows.map((row) => [row.key_id, isoTime(Number(row.ends_at))]))
}
