/**
 * Creates and updates customers (§13). Each operation is one transaction that also records its
 * audit row.
 */
import type { Actor } from '../../history/audit/actor.ts'
import { recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import { createTimeOrderedId } from '../../kernel/id.ts'
import { type Principal, scopeOf, scopesOf } from '../../kernel/principal.ts'
import { isoTime } from '../../kernel/time.ts'
import type { CustomerPlace } from '../../platform/storage/customer-rows.ts'
import { ConstraintError, type Tx } from '../../platform/storage/database.ts'
import { invalidMembers } from '../../protocol/fields/body.ts'
import { emailAddress } from '../../protocol/fields/email-address.ts'
import { b, type JsonOf, type ValuesOf } from '../../protocol/fields/members.ts'
import { publishCustomerChange } from '../tokens/revocation-feed.ts'
import { type Administration, CUSTOMER_PREFIX, DEFAULT_CUSTOMER } from './administration.ts'
import {
  type CustomerJson,
  type customerDeletion,
  customerLimits,
  customerTable,
} from './collections.ts'
import { customerIdOf } from './customer-reader.ts'
import * as store from './store.ts'

const NAME_MAX = 200
const externalId = b
  .matching(/^[!-+\--~]{1,200}$/, '1 to 200 visible ASCII characters without a comma')
  .refine((text, reject) =>
    text === 'default' || text.startsWith(CUSTOMER_PREFIX)
      ? reject('must differ from ids of customers: default, cus_…')
      : text,
  )
  .nullable()
  .optional()
  .describe('The id of the customer in your own system: a request may name the customer by it.')
  .example('org_42')

const NEW_CUSTOMER = { suspended: 0, limits: '{}', deleting_since: null, deleted_rows: 0 }

const contactEmail = emailAddress
  .nullable()
  .optional()
  .describe('The address for news about the API.')

export const customerCreation = {
  name: b.line(NAME_MAX).example('Acme GmbH'),
  contact_email: contactEmail,
  external_id: externalId,
}
export const customerPatch = {
  name: b.line(NAME_MAX).optional().example('Acme GmbH'),
  contact_email: contactEmail,
  external_id: externalId,
  suspended: b.bool().optional(),
  limits: customerLimits.nullable().optional(),
}

/** Creates a customer. Throws 409 `conflict` for an external id in use. */
export async function createCustomer(
  admin: Administration,
  { name, contact_email = null, external_id = null }: ValuesOf<typeof customerCreation>,
  actor: Actor,
): Promise<CustomerJson> {
  const now = admin.clock.now()
  const id = createTimeOrderedId('cus_', now, admin.random)
  return admin.write(async (tx) => {
    const row = { id, name, contact_email, external_id, created_at: now }
    await rejectTakenId(() => store.insertCustomer(tx, row))
    const { no } = (await store.findCustomer(tx, id))!
    const scope = scopeOf(no, 'live')
    const entry = { actor, action: 'customer.create', target: id, scope, detail: { name } }
    await recordAudit(tx, entry, admin)
    return customerTable.toJson({ ...NEW_CUSTOMER, ...row })
  })
}

/**
 * Updates a customer. Limits are merged, and `null` removes a limit. The
 * default customer cannot be suspended: only its own keys could resume it. Throws 404, 409, 422.
 */
export async function updateCustomer(
  admin: Administration,
  customer: string,
  patch: ValuesOf<typeof customerPatch>,
  actor: Actor,
): Promise<CustomerJson> {
  const id = await customerIdOf(admin.db, customer)
  if (patch.suspended && id === DEFAULT_CUSTOMER) {
    const message = 'must stay false: the default customer holds the keys of the operator'
    throw invalidMembers([{ pointer: '/suspended', code: 'invalid_value', message }])
  }
  return admin.write(async (tx) => {
    const row = await store.lockCustomer(tx, id)
    if (!row) throw new Failure('not_found')
    const updatedRow = {
      ...row,
      name: patch.name ?? row.name,
      contact_email: patch.contact_email === undefined ? row.contact_email : patch.contact_email,
      external_id: patch.external_id === undefined ? row.external_id : patch.external_id,
      suspended: patch.suspended === undefined ? row.suspended : Number(patch.suspended),
      limits: mergeLimits(row.limits, patch.limits),
    }
    await rejectTakenId(() => store.updateCustomer(tx, updatedRow))
    await publishCustomerChange(tx, id, admin.clock.now())
    if (updatedRow.suspended !== row.suspended) await admin.wakeDeliveriesOf?.(tx, row.no)
    const scope = scopeOf(row.no, 'live')
    const entry = { actor, action: 'customer.update', target: id, scope, detail: patch }
    await recordAudit(tx, entry, admin)
    tx.afterCommit(admin.onChange)
    return customerTable.toJson({ ...NEW_CUSTOMER, ...updatedRow })
  })
}

/**
 * Begins the deletion of a customer: its credentials end at once, and `begin` enqueues the job that
 * deletes its rows. Has no effect while a deletion runs. Throws 404, 409 `invalid_state` for the
 * default customer.
 */
export async function deleteCustomer(
  admin: Administration,
  id: string,
  actor: Actor,
  begin: (tx: Tx, customer: CustomerPlace, cause: string) => Promise<unknown>,
): Promise<JsonOf<typeof customerDeletion>> {
  const now = admin.clock.now()
  return admin.write(async (tx) => {
    const row = await store.lockDeletion(tx, id)
    if (!row) throw new Failure('not_found')
    if (row.id === DEFAULT_CUSTOMER) {
      const message = 'The default customer holds the keys of the operator, and stays.'
      throw new Failure('invalid_state', message)
    }
    const { no, deleting_since: since, deleted_rows } = row
    if (since !== null) return { id, deleting_since: isoTime(since), deleted_rows }
    await store.beginDeletion(tx, no, now)
    await publishCustomerChange(tx, id, now)
    await admin.wakeDeliveriesOf?.(tx, no)
    const detail = { scopes: scopesOf(no) }
    const entry = { actor, action: 'customer.delete', target: id, detail }
    const cause = await recordAudit(tx, entry, admin)
    tx.afterCommit(admin.onChange)
    await begin(tx, { id, no }, cause)
    return { id, deleting_since: isoTime(now), deleted_rows: 0 }
  })
}

/** Throws 409 `conflict` if `change` gives a customer the external id of another. */
async function rejectTakenId<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change()
  } catch (error) {
    if (!(error instanceof ConstraintError) || !error.isOf('gh_customers_external')) throw error
    const message = 'is the external id of another customer'
    throw new Failure('conflict', `external_id: ${message}`, {
      errors: [{ pointer: '/external_id', code: 'conflict', message }],
    })
  }
}

function mergeLimits(stored: string, patch: object | null | undefined): string {
  if (patch === undefined) return stored
  const merged = { ...(patch && JSON.parse(stored)), ...patch }
  return JSON.stringify(merged, (_, value) => value ?? undefined)
}

type StoredLimits = NonNullable<ValuesOf<typeof customerPatch>['limits']>
type RequestRate = NonNullable<StoredLimits['rate_limit']>

/** Returns the members of a principal that its customer has: its own limits, its external id. */
export function principalMembersOf({
  limits,
  external_id,
}: {
  readonly limits: string
  readonly external_id: string | null
}): Pick<Principal, 'rate' | 'totalRate' | 'externalId'> {
  const { rate_limit, total_rate_limit } = JSON.parse(limits) as StoredLimits
  const toRate = ({ limit, window_s }: RequestRate) => ({ limit, windowMs: window_s * 1000 })
  return {
    ...(external_id !== null && { externalId: external_id }),
    ...(rate_limit && { rate: toRate(rate_limit) }),
    ...(total_rate_limit && { totalRate: toRate(total_rate_limit) }),
  }
}
