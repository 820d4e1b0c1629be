/**
 * The creations of an operator that work still: they outlive the account. The audit trail names the
 * creator. `KINDS` has every object by which its creator, or a secret that the creator knows, has
 * access.
 */

import {
  type CreatedCredential,
  type CreatedObject,
  type CreatedReading,
  listKeysCreatedBy,
} from '../../identity/access/key-reader.ts'
import { listClientsCreatedBy } from '../../identity/oauth/client-store.ts'
import { listIssuersCreatedBy } from '../../identity/oauth/issuer-store.ts'
import { operatorTable } from '../../identity/people/collection.ts'
import { listOperatorsCreatedBy } from '../../identity/people/operator-store.ts'
import { listAdministratorsCreatedBy } from '../../identity/people/store.ts'
import type { Clock } from '../../kernel/clock.ts'
import { isoTime } from '../../kernel/time.ts'
import { listEndpointsCreatedBy } from '../../outbound/deliveries/endpoint-reader.ts'
import type { Reader } from '../../platform/storage/database.ts'
import { b, type JsonOf } from '../../protocol/fields/members.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement, operation, respond } from '../../protocol/http/operation.ts'

/** Objects of each kind that one list has; the newest. */
const LISTED_MAX = 500

type CreatedRow = CreatedObject &
  Partial<Omit<CreatedCredential, keyof CreatedObject>> & { readonly last_used_at?: number | null }

type ListCreated = (
  from: Reader,
  operator: string,
  reading: CreatedReading,
) => Promise<readonly CreatedRow[]>

const KINDS = {
  key: listKeysCreatedBy,
  client: listClientsCreatedBy,
  operator: listOperatorsCreatedBy,
  person: listAdministratorsCreatedBy,
  issuer: listIssuersCreatedBy,
  webhook: listEndpointsCreatedBy,
} as const satisfies Record<string, ListCreated>

type CreationKind = keyof typeof KINDS

const kinds = Object.keys(KINDS) as CreationKind[]

export const createdCredential = b
  .object({
    kind: b
      .oneOf(kinds)
      .describe(
        '`operator`: it signs in; `person`: one with the scope `admin`; `issuer`: its assertions ' +
          'count; `webhook`: a registration for a customer.',
      ),
    id: b.text().example('key_01jdq8w9vgk7'),
    name: b.text().example('Shop'),
    customer: b.text().nullable().example('cus_default'),
    mode: b.oneOf(['live', 'test']).nullable(),
    scopes: b.list(b.text()).example(['webhooks:read']),
    created_at: b.time(),
    last_used_at: b.time().nullable().describe('Of a key; null: never.'),
  })
  .named('OperatorCreation')
  .columns({ name: {}, kind: {}, id: {}, customer: {}, mode: {}, created_at: {} })

export type Creation = JsonOf<typeof createdCredential>

export const creationsOperation = operation('GET /admin/operators/:id/credentials', {
  id: 'list_operator_credentials',
  summary: 'List what an operator created that gives access still',
  description:
    'Keys, clients, operators, persons with `admin`, trusted issuers, webhooks of customers: at ' +
    'most 500 of each, the newest. Links, and sessions that they opened, end with the operator.',
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
  const creations: Creation[] = []
  for (const kind of kinds) {
    const list: ListCreated = KINDS[kind]
    for (const row of await list(from, operator, { now, limit: LISTED_MAX })) {
      const { id, name, customer, mode, scopes, at, last_used_at: used } = row
      creations.push({
        ...{ kind, id, name, customer: customer ?? null, mode: mode ?? null },
        scopes: scopes === undefined ? [] : (JSON.parse(scopes) as string[]),
        created_at: isoTime(Number(at)),
        last_used_at: used == null ? null : isoTime(Number(used)),
      })
    }
  }
  return creations
}

export const creationsRoute = (db: Reader, clock: Pick<Clock, 'now'>): Route =>
  implement(creationsOperation, async ({ params }) => {
    const { id } = await operatorTable.read(db, params.id!)
    return respond(creationsOperation, { data: await listCreations(db, id, clock.now()) })
  })
