/**
 * Creates and updates customers (§13). Each operation is one transaction that also records its
 * audit row.
 */
import { type Actor, recordAudit } from '../audit/store.ts'
import { Failure } from '../kernel/failure.ts'
import { createTimeOrderedId } from '../kernel/id.ts'
import {
  bool,
  integer,
  invalidMembers,
  line,
  object,
  optional,
  orNull,
  readMembers,
  required,
  type ValuesOf,
} from '../kernel/members.ts'
import type { Principal } from '../kernel/principal.ts'
import { publishCustomerChange } from '../tokens/revocation-feed.ts'
import { type Administration, customerId, DEFAULT_CUSTOMER } from './administration.ts'
import { type CustomerJson, customerTable } from './collections.ts'
import * as store from './store.ts'

const NAME_MAX = 200
const MAX_PER_WINDOW = 1_000_000
const MAX_WINDOW_S = 86_400

/** A number of requests or deliveries per window, in seconds. */
const rate = object({
  limit: required(integer(1, MAX_PER_WINDOW)),
  window_s: required(integer(1, MAX_WINDOW_S)),
})

/** A customer's own limits; the installation's apply if one is absent. */
const limits = object({
  /** Requests per credential (§11.3). */
  rate_limit: optional(orNull(rate)),
  /** Requests of all credentials together; default 10 × the limit of one (§11.3). */
  total_rate_limit: optional(orNull(rate)),
  /** Webhook deliveries (§9.8). */
  delivery_rate: optional(orNull(rate)),
})

const creationMembers = { name: required(line(NAME_MAX)) }
const updateMembers = {
  name: optional(line(NAME_MAX)),
  suspended: optional(bool),
  limits: optional(orNull(limits)),
}

/** Creates a customer from `{name}`. Throws 422 `validation_failed`. */
export async function createCustomer(
  admin: Administration,
  input: unknown,
  actor: Actor,
): Promise<CustomerJson> {
  const { name } = readMembers(input, creationMembers)
  const now = admin.clock.now()
  const id = createTimeOrderedId('cus_', now, admin.random)
  return admin.write(async (tx) => {
    await store.insertCustomer(tx, { id, name, created_at: now })
    await recordAudit(tx, { actor, action: 'customer.create', target: id, detail: { name } }, admin)
    return customerTable.toJson({ id, name, suspended: 0, limits: '{}', created_at: now })
  })
}

/**
 * Updates `{name?, suspended?, limits?}`. Limits are merged, and `null` removes a limit. The
 * default customer cannot be suspended: only its own keys could resume it. Throws 404, 422.
 */
export async function updateCustomer(
  admin: Administration,
  customer: string,
  input: unknown,
  actor: Actor,
): Promise<CustomerJson> {
  const id = customerId(customer)
  const patch = readMembers(input, updateMembers)
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
      suspended: patch.suspended === undefined ? row.suspended : Number(patch.suspended),
      limits: mergeLimits(row.limits, patch.limits),
    }
    await store.updateCustomer(tx, updatedRow)
    await publishCustomerChange(tx, id, admin.clock.now())
    const entry = { actor, action: 'customer.update', target: id, detail: patch }
    await recordAudit(tx, entry, admin)
    tx.afterCommit(admin.onChange)
    return customerTable.toJson(updatedRow)
  })
}

function mergeLimits(stored: string, patch: object | null | undefined): string {
  if (patch === undefined) return stored
  const merged = { ...(patch && JSON.parse(stored)), ...patch }
  return JSON.stringify(merged, (_, value) => value ?? undefined)
}

type StoredLimits = NonNullable<ValuesOf<typeof updateMembers>['limits']>
type RequestRate = NonNullable<StoredLimits['rate_limit']>

/** Returns the request limits of a customer's `limits` column, if it has its own. */
export function parseRequestRates(limits: string): Pick<Principal, 'rate' | 'totalRate'> {
  const { rate_limit, total_rate_limit } = JSON.parse(limits) as StoredLimits
  const toRate = ({ limit, window_s }: RequestRate) => ({ limit, windowMs: window_s * 1000 })
  return {
    ...(rate_limit && { rate: toRate(rate_limit) }),
    ...(total_rate_limit && { totalRate: toRate(total_rate_limit) }),
  }
}
