/**
 * What is done to customers (§13). Each act is one transaction with its line in the audit trail.
 */
import { type Actor, recordAudit } from '../audit/store.ts'
import { Failure } from '../kernel/failure.ts'
import { timeOrderedId } from '../kernel/id.ts'
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
import { announceCustomer } from '../tokens/revocations.ts'
import { type Administration, customerId, DEFAULT_CUSTOMER } from './administration.ts'
import { type Customer, customerRows } from './collections.ts'
import * as store from './store.ts'

const NAME_MAX = 200
const MAX_PER_WINDOW = 1_000_000
const MAX_WINDOW_S = 86_400

/** So many in a window of so many seconds. */
const rate = object({
  limit: required(integer(1, MAX_PER_WINDOW)),
  window_s: required(integer(1, MAX_WINDOW_S)),
})

/** A customer's own limits; one that is absent is the installation's. */
const limits = object({
  /** Requests per credential (§11.3). */
  rate_limit: optional(orNull(rate)),
  /** Requests of all credentials together; default 10 × the limit of one (§11.3). */
  total_rate_limit: optional(orNull(rate)),
  /** Webhook deliveries (§9.8). */
  delivery_rate: optional(orNull(rate)),
})

/** As stored and shown; what is absent is the installation's. */
export type Limits = NonNullable<ValuesOf<{ limits: typeof change.limits }>['limits']>

const creation = { name: required(line(NAME_MAX)) }
const change = {
  name: optional(line(NAME_MAX)),
  suspended: optional(bool),
  limits: optional(orNull(limits)),
}

/** Makes a customer from `{name}`. Throws 422 `validation_failed`. */
export async function createCustomer(
  admin: Administration,
  input: unknown,
  actor: Actor,
): Promise<Customer> {
  const { name } = readMembers(input, creation)
  const now = admin.clock.now()
  const id = timeOrderedId('cus_', now, admin.random)
  return admin.write(async (tx) => {
    await store.insertCustomer(tx, { id, name, created_at: now })
    await recordAudit(tx, { actor, action: 'customer.create', target: id, detail: { name } }, admin)
    return customerRows.show({ id, name, suspended: 0, limits: '{}', created_at: now })
  })
}

/**
 * Changes `{name?, suspended?, limits?}`; limits are merged, `null` clears. The default customer
 * cannot be suspended: its keys are the only ones that could undo it. Throws 404, 422.
 */
export async function patchCustomer(
  admin: Administration,
  name: string,
  input: unknown,
  actor: Actor,
): Promise<Customer> {
  const id = customerId(name)
  const patch = readMembers(input, change)
  if (patch.suspended && id === DEFAULT_CUSTOMER) {
    const message = 'must stay false: the default customer holds the operator’s own keys'
    throw invalidMembers([{ pointer: '/suspended', code: 'invalid_value', message }])
  }
  return admin.write(async (tx) => {
    const row = await store.lockCustomer(tx, id)
    if (!row) throw new Failure('not_found')
    const changed = {
      ...row,
      name: patch.name ?? row.name,
      suspended: patch.suspended === undefined ? row.suspended : Number(patch.suspended),
      limits: mergedLimits(row.limits, patch.limits),
    }
    await store.updateCustomer(tx, changed)
    await announceCustomer(tx, id, admin.clock.now())
    const act = { actor, action: 'customer.update', target: id, detail: patch }
    await recordAudit(tx, act, admin)
    tx.afterCommit(admin.changed)
    return customerRows.show(changed)
  })
}

function mergedLimits(stored: string, patch: object | null | undefined): string {
  if (patch === undefined) return stored
  const merged = { ...(patch && JSON.parse(stored)), ...patch }
  return JSON.stringify(merged, (_, value) => value ?? undefined)
}
