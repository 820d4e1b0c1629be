/**
 * The credentials that an operator created and that work still: they outlive the account. The audit
 * trail names their creator.
 */

import { isoTime } from '../../kernel/time.ts'
import type { Reader } from '../../platform/storage/database.ts'
import { sql } from '../../platform/storage/sql.ts'
import { b, type JsonOf } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'

/** Credentials of each kind that one list has; the newest. */
const LISTED_MAX = 500

const creation = b
  .object({
    kind: b.oneOf(['key', 'client']),
    id: b.text().example('key_01jdq8w9vgk7'),
    name: b.text().example('Shop'),
    customer: b.text().example('cus_default'),
    mode: b.oneOf(['live', 'test']),
    scopes: b.list(b.text()).example(['webhooks:read']),
    created_at: b.time(),
    last_used_at: b.time().nullable().describe('Of a key; null: never.'),
  })
  .named('OperatorCreation')

type Creation = JsonOf<typeof creation>

export const creationsOperation = operation('GET /admin/operators/:id/credentials', {
  id: 'list_operator_credentials',
  summary: 'List the credentials that an operator created and that work still',
  description: 'At most 500 keys and 500 clients, the newest of each.',
  output: b
    .object({ data: b.list(creation).describe('The credentials.') })
    .named('OperatorCreations'),
})

interface CreatedRow {
  readonly id: string
  readonly name: string
  readonly customer: string
  readonly mode: 'live' | 'test'
  readonly scopes: string
  readonly at: number
  readonly last_used_at: number | null
}

/** @param operator the id of an operator */
export async function listCreations(
  from: Reader,
  operator: string,
  now: number,
): Promise<Creation[]> {
  const keys = await from.all<CreatedRow & Record<string, unknown>>(sql`SELECT k.id, k.name,
      k.customer, k.mode, k.scopes, a.at, k.last_used_at
    FROM gh_audit a JOIN gh_api_keys k ON k.id = a.target
    WHERE a.actor_id = ${operator} AND a.actor_kind = 'operator' AND a.action = 'key.create'
      AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ${now})
    ORDER BY a.id DESC LIMIT ${LISTED_MAX}`)
  const clients = await from.all<CreatedRow & Record<string, unknown>>(sql`SELECT
      c.client_id AS id, c.name, c.customer, c.mode, c.scopes, a.at, NULL AS last_used_at
    FROM gh_audit a JOIN gh_clients c ON c.client_id = a.target
    WHERE a.actor_id = ${operator} AND a.actor_kind = 'operator' AND a.action = 'client.create'
    ORDER BY a.id DESC LIMIT ${LISTED_MAX}`)
  const toJson = (kind: Creation['kind'], row: CreatedRow): Creation => ({
    kind,
    id: row.id,
    name: row.name,
    customer: row.customer,
    mode: row.mode,
    scopes: JSON.parse(row.scopes) as string[],
    created_at: isoTime(Number(row.at)),
    last_used_at: row.last_used_at === null ? null : isoTime(Number(row.last_used_at)),
  })
  return [...keys.map((row) => toJson('key', row)), ...clients.map((row) => toJson('client', row))]
}
