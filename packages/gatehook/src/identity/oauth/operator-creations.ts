/**
 * The credentials that an operator created and that work still: they outlive the account. The audit
 * trail names their creator.
 */

import type { Clock } from '../../kernel/clock.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Reader } from '../../platform/storage/database.ts'
import { b, type JsonOf } from '../../protocol/fields/members.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement, operation, respond } from '../../protocol/http/operation.ts'
import { type CreatedCredential, listKeysCreatedBy } from '../access/key-reader.ts'
import { operatorTable } from '../people/collection.ts'
import { listClientsCreatedBy } from './client-store.ts'

/** Credentials of each kind that one list has; the newest. */
const LISTED_MAX = 500

export const createdCredential = b
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
  .columns({ name: {}, kind: {}, id: {}, customer: {}, mode: {}, created_at: {} })

type Creation = JsonOf<typeof createdCredential>

export const creationsOperation = operation('GET /admin/operators/:id/credentials', {
  id: 'list_operator_credentials',
  summary: 'List the credentials that an operator created and that work still',
  description: 'At most 500 keys and 500 clients, the newest of each.',
  output: b
    .object({ data: b.list(createdCredential).describe('The credentials.') })
    .named('OperatorCreations'),
})

/** @param operator the id of an operator */
export async function listCreations(
  from: Reader,
  operator: string,
  now: number,
): Promise<Creation[]> {
  const keys = await listKeysCreatedBy(from, operator, { now, limit: LISTED_MAX })
  const clients = await listClientsCreatedBy(from, operator, LISTED_MAX)
  const toJson = (
    kind: Creation['kind'],
    { id, name, customer, mode, scopes, at }: CreatedCredential,
    lastUse: number | null,
  ): Creation => ({
    ...{ kind, id, name, customer, mode },
    scopes: JSON.parse(scopes) as string[],
    created_at: isoTime(Number(at)),
    last_used_at: lastUse === null ? null : isoTime(Number(lastUse)),
  })
  return [
    ...keys.map((row) => toJson('key', row, row.last_used_at)),
    ...clients.map((row) => toJson('client', row, null)),
  ]
}

export const creationsRoute = (db: Reader, clock: Pick<Clock, 'now'>): Route =>
  implement(creationsOperation, async ({ params }) => {
    const { id } = await operatorTable.read(db, params.id!)
    return respond(creationsOperation, { data: await listCreations(db, id, clock.now()) })
  })
