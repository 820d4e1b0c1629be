/**
 * The changes of a row: create, update, act, remove. Each runs in one transaction with its events,
 * counter and checks (§6.5), in the newest shape.
 */

import type { Actor } from '../audit/store.ts'
import type { RecordEvent } from '../events/store.ts'
import { isSameValue } from '../fields/forms.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import type { Principal, Scope } from '../kernel/principal.ts'
import { addToTotal } from '../lists/counters.ts'
import type { Reader, Tx } from '../storage/database.ts'
import { readChangedValues } from './own-values.ts'
import { type RowReach, wholeScope } from './ownership.ts'
import {
  type ActionDefinition,
  type AnyRow,
  type ResourceDefinition,
  STATE_FIELD,
} from './resource.ts'
import { createRowChecks, type RowChecks } from './row-checks.ts'
import { rowDecoder, type VersionShape } from './shape.ts'
import { createRowStore, type RowStore } from './store.ts'

/** A row and its JSON text in the newest shape: the event's object, and mostly the response. */
export interface WrittenRow {
  readonly row: AnyRow
  readonly text: string
}

/** The row to change, and a precondition on its current state. */
export interface RowTarget {
  readonly reach: RowReach
  readonly id: number
  readonly guard?: (row: AnyRow) => void
  /** The actor in the audit trail if the change affects a credential. Default: the engine. */
  readonly actor?: Actor | undefined
  /** The deletion that this change is a part of. */
  readonly cascade?: CascadeState
}

/** One deletion: the other rows it has changed, and those it deletes, by resource and id. */
interface CascadeState {
  count: number
  readonly deleted: Set<string>
}

/** Returns the fields to change of a locked row. */
type RowEdit = (row: AnyRow) => AnyRow

export interface ResourceRows {
  readonly definition: ResourceDefinition
  readonly newest: VersionShape
  readonly store: RowStore
  /** Returns the row. Throws `not_found`, also for a row out of reach. */
  get(reader: Reader, reach: RowReach, id: number): Promise<AnyRow>
  /** Returns the row, and locks it until the transaction ends. Throws `not_found`. */
  lock(tx: Tx, target: RowTarget): Promise<AnyRow>
  /** Omitted fields have their defaults. */
  create(tx: Tx, reach: RowReach, values: AnyRow): Promise<WrittenRow>
  update(tx: Tx, target: RowTarget, edit: RowEdit): Promise<WrittenRow>
  act(tx: Tx, target: RowTarget, action: ActionDefinition, input: AnyRow): Promise<WrittenRow>
  remove(tx: Tx, target: RowTarget): Promise<void>
}

/** The row of a credential, and the principal that changes it; undefined for the engine. */
interface CredentialTarget {
  readonly scope: Scope
  readonly id: number
  readonly principal: Principal | undefined
  readonly actor: Actor | undefined
}

/** Keeps the credentials of rows that sign in consistent, in one transaction (§6.3, §6.8, §6.9). */
export interface RowCredentials {
  /**
   * Runs before the row is deleted or its name or e-mail address changes. Throws 403
   * `insufficient_scope` if the change requires `admin`.
   */
  authorize(tx: Tx, target: CredentialTarget): Promise<void>
  /**
   * Runs after `fields` changed. `username` is the current sign-in name. Throws `conflict` if
   * another row has it.
   */
  rename(
    tx: Tx,
    target: CredentialTarget,
    fields: readonly string[],
    username: unknown,
  ): Promise<void>
  remove(tx: Tx, target: CredentialTarget): Promise<void>
}

/** Runs the rules of an operation. Returns the values that complete the change. */
export type RunRules = (
  tx: Tx,
  target: Pick<RowTarget, 'reach' | 'actor'>,
  operation: string,
  rows: { readonly before?: AnyRow; readonly after?: AnyRow },
) => Promise<AnyRow>

interface RowDeps {
  readonly clock: Clock
  readonly record: RecordEvent
  readonly counterSlots: number
  /** Returns the rows of a resource by name, to check references. */
  readonly rowsOf: (resource: string) => ResourceRows
  /** Every resource of the service. */
  readonly resources: readonly ResourceDefinition[]
  /** Defined for the resource whose rows sign in. */
  readonly credentials?: RowCredentials | undefined
  readonly runRules: RunRules
}

export function createRows(
  definition: ResourceDefinition,
  newest: VersionShape,
  deps: RowDeps,
): ResourceRows {
  const { clock, record, counterSlots, rowsOf, resources, credentials, runRules } = deps
  const { name, events } = definition
  const store = createRowStore(definition, resources)
  const checks = createRowChecks(definition, (resource) => rowsOf(resource).store)
  const decode = rowDecoder(definition)
  const creationStamps = stampFields(definition, ['created', 'updated'])
  const releaseReferrers = referrerRelease(definition, deps)
  const eventType = (suffix: string) => events.find((type) => type.endsWith(`.${suffix}`))

  const lockRow = async (tx: Tx, { reach, id, guard }: RowTarget): Promise<AnyRow> => {
    const cells = await store.lock(tx, reach, id)
    if (!cells) throw new Failure('not_found')
    const row = decode(cells)
    guard?.(row)
    return row
  }
  const hasRules = definition.rules.length > 0
  const complete = changeCompleter(definition, runRules)
  const writeChanges = changeWriter(definition, store, checks, deps)
  const recordEvent = async (
    tx: Tx,
    { scope }: RowReach,
    type: string | undefined,
    row: AnyRow,
  ) => {
    const text = newest.encode(row)
    const event = { collection: name, objectId: row.id as number, object: text }
    if (type) await record(tx, scope as Scope, { type, ...event })
    return { row, text }
  }

  return {
    definition,
    newest,
    store,
    async get(reader, reach, id) {
      const cells = await store.find(reader, reach, id)
      if (!cells) throw new Failure('not_found')
      return decode(cells)
    },
    lock: lockRow,
    async create(tx, reach, values) {
      const row: AnyRow = { ...newest.defaults, ...values }
      const now = clock.now()
      for (const field of creationStamps) row[field] = now
      if (hasRules) Object.assign(row, await runRules(tx, { reach }, 'create', { after: row }))
      checks.checkRules(row)
      await checks.checkReferences(tx, reach, row)
      row.id = await checks.checkUnique(() => store.insert(tx, reach.scope, row))
      await addToTotal(tx, counterSlots, reach.scope, name, row.id as number, 1)
      return recordEvent(tx, reach, eventType('created'), row)
    },
    async update(tx, target, edit) {
      const row = await lockRow(tx, target)
      const edited = await complete(tx, target, 'update', row, edit(row))
      const after = await writeChanges(tx, target, row, edited)
      // A patch without a change records no event.
      return recordEvent(tx, target.reach, after && eventType('updated'), after ?? row)
    },
    async act(tx, target, action, input) {
      const row = await lockRow(tx, target)
      requireState(action, row[STATE_FIELD] as string)
      const source = `action ${action.name} of ${name}`
      const edited = readChangedValues(newest, source, action.run?.({ row, input }) ?? {})
      if (action.to !== undefined) edited[STATE_FIELD] = action.to
      const completed = await complete(tx, target, action.name, row, edited)
      const after = await writeChanges(tx, target, row, completed)
      return recordEvent(tx, target.reach, action.emits, after ?? row)
    },
    async remove(tx, target) {
      const row = await lockRow(tx, target)
      const { reach, id } = target
      await credentials?.authorize(tx, credentialOf(target))
      if (hasRules) await runRules(tx, target, 'delete', { before: row })
      await releaseReferrers(tx, target)
      await store.remove(tx, reach.scope, id)
      await credentials?.remove(tx, credentialOf(target))
      await addToTotal(tx, counterSlots, reach.scope, name, id, -1)
      await recordEvent(tx, reach, eventType('deleted'), row)
    },
  }
}

const credentialOf = ({ reach, id, actor }: RowTarget): CredentialTarget => ({
  scope: reach.scope as Scope,
  id,
  principal: reach.principal,
  actor,
})

/** Returns the fields that hold an instant which the engine sets. */
const stampFields = ({ fields }: ResourceDefinition, stamps: readonly string[]): string[] =>
  Object.keys(fields).filter((field) => stamps.includes(fields[field]!.stamp ?? ''))

/** Returns the fields that identify a person: the sign-in name, the name, e-mail addresses. */
const identityFieldsOf = ({ fields, signsIn }: ResourceDefinition): string[] =>
  Object.keys(fields).filter(
    (field) => field === signsIn?.username || field === 'name' || fields[field]!.kind === 'email',
  )

/**
 * Returns a function that writes the fields that differ, with their checks and the credential of
 * the row. It returns the changed row, or undefined if no field differs.
 */
function changeWriter(
  definition: ResourceDefinition,
  store: RowStore,
  checks: RowChecks,
  { clock, credentials }: RowDeps,
) {
  const updateStamps = stampFields(definition, ['updated'])
  const identityFields = identityFieldsOf(definition)
  return async (tx: Tx, target: RowTarget, row: AnyRow, edited: AnyRow) => {
    const changes = Object.entries(edited).filter(
      ([field, value]) => !isSameValue(value, row[field]),
    )
    if (changes.length === 0) return undefined
    const values: AnyRow = Object.fromEntries(changes)
    for (const field of updateStamps) values[field] = clock.now()
    const after: AnyRow = { ...row, ...values }
    const identity = credentials ? identityFields.filter((field) => field in values) : []
    if (identity.length > 0) await credentials?.authorize(tx, credentialOf(target))
    checks.checkRules(after)
    await checks.checkReferences(tx, target.reach, values)
    await checks.checkUnique(() => store.update(tx, target.reach.scope, target.id, values))
    if (identity.length > 0) {
      const username = after[definition.signsIn!.username]
      await credentials?.rename(tx, credentialOf(target), identity, username)
    }
    return after
  }
}

/** Returns a function that adds the values of rules to those of a change. */
function changeCompleter({ rules }: ResourceDefinition, runRules: RunRules) {
  const hasRules = rules.length > 0
  return async (
    tx: Tx,
    target: RowTarget,
    operation: string,
    before: AnyRow,
    edited: AnyRow,
  ): Promise<AnyRow> => {
    if (!hasRules) return edited
    const after = { ...before, ...edited }
    return { ...edited, ...(await runRules(tx, target, operation, { before, after })) }
  }
}

/** Rows that one deletion deletes or changes besides its own. */
const CASCADE_MAX = 1_000

/**
 * Returns a function that deletes or clears the rows that refer to a row, each with its event. It
 * throws `conflict` if a reference restricts the deletion.
 */
function referrerRelease({ name }: ResourceDefinition, { rowsOf, resources }: RowDeps) {
  const referrers = referrersOf(name, resources)
  return async (tx: Tx, target: RowTarget): Promise<void> => {
    const { reach, id, actor, cascade = { count: 0, deleted: new Set() } } = target
    cascade.deleted.add(`${name} ${id}`)
    const all = { ...wholeScope(reach.scope), principal: reach.principal }
    for (const { resource, field, effect } of referrers) {
      const { store, remove, update } = rowsOf(resource)
      for (;;) {
        const referrer = await store.findReferenceTo(tx, reach.scope, field, id)
        if (referrer === undefined) break
        const isCircle = cascade.deleted.has(`${resource} ${referrer}`)
        if (effect === 'restrict' || (effect === 'cascade' && isCircle)) {
          const message = `Rows of ${resource} still refer to this row of ${name}.`
          throw new Failure('conflict', message)
        }
        if (++cascade.count > CASCADE_MAX) {
          const message = `More than ${CASCADE_MAX} rows depend on this row of ${name}.`
          throw new Failure('conflict', message)
        }
        const next = { reach: all, id: referrer, actor, cascade }
        if (effect === 'cascade') await remove(tx, next)
        else await update(tx, next, () => ({ [field]: null }))
      }
    }
  }
}

/** Returns the fields of all resources that refer to a resource. */
const referrersOf = (target: string, resources: readonly ResourceDefinition[]) =>
  resources.flatMap((resource) =>
    Object.entries(resource.fields)
      .filter(([, spec]) => spec.target === target)
      .map(([field, { onDelete: effect = 'restrict' }]) => ({
        resource: resource.name,
        field,
        effect,
      })),
  )

function requireState(action: ActionDefinition, state: string): void {
  if (!action.from || action.from.includes(state)) return
  const from = action.from.join(' or ')
  const message = `"${action.name}" is possible from ${from}; the present state is ${state}.`
  throw new Failure('invalid_state', message, {
    errors: [
      { pointer: `/${STATE_FIELD}`, code: 'invalid_state', message: `is ${state}, not ${from}` },
    ],
  })
}
