/**
 * Deletes rows with those that depend on them, and restores rows with soft deletion. To other rows,
 * a soft deletion is a deletion: references restrict, cascade or become null.
 */

import { Failure } from '../../kernel/failure.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { RowId } from '../../kernel/row-id.ts'
import { budgetOf } from '../../platform/storage/change-budget.ts'
import type { Tx, Value } from '../../platform/storage/database.ts'
import { timeOf } from '../../platform/storage/transaction-time.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { addToTotal } from '../../protocol/lists/counters.ts'
import { hasApi } from './api-resources.ts'
import { type InnerReference, idsInside, innerReferencesOf, withoutId } from './inner-references.ts'
import { type RowReach, wholeScope } from './ownership.ts'
import type { AnyRow, ResourceDefinition } from './resource.ts'
import type {
  CredentialTarget,
  ResourceRows,
  RowDeps,
  RowTarget,
  WrittenRow,
} from './row-changes.ts'
import type { RowChecks } from './row-checks.ts'
import type { ReferrerPlace, RowReference } from './row-references.ts'
import { DELETED_FIELD } from './soft-deletion.ts'
import { stampFields } from './stamps.ts'
import type { RowStore } from './store.ts'

/** The parts of `rows.ts` that deletions share with other changes. */
interface DeletionParts {
  readonly store: RowStore
  readonly checks: RowChecks
  readonly decode: (cells: readonly Value[]) => AnyRow
  readonly lock: (tx: Tx, target: RowTarget) => Promise<AnyRow>
  readonly complete: (
    tx: Tx,
    target: RowTarget,
    operation: string,
    before: AnyRow,
    edited: AnyRow,
  ) => Promise<AnyRow>
  readonly recordEvent: (
    tx: Tx,
    reach: RowReach,
    type: string | undefined,
    row: AnyRow,
  ) => Promise<WrittenRow>
}

export function createDeletion(
  definition: ResourceDefinition,
  deps: RowDeps,
  { store, checks, decode, lock, complete, recordEvent }: DeletionParts,
): Pick<ResourceRows, 'remove' | 'restore' | 'erase'> {
  const { name, events, softDeletion, rules } = definition
  const { clock, credentials, runRules } = deps
  const releaseReferrers = referrerRelease(definition, deps)
  const eventType = (suffix: string) => events.find((type) => type.endsWith(`.${suffix}`))
  const updateStamps = stampFields(definition, ['updated'])
  const restrictedBy = restrictedTargets(definition, deps.resources)
  /** The ids decide which of two rows is deleted first, and must not decide whether both are. */
  const noteRestricted = ({ cascade, id }: RowTarget, row: AnyRow) => {
    for (const other of cascade ? restrictedBy(row) : []) {
      if (other !== `${name} ${id}`) cascade!.restricted.set(other, wordsOf(definition))
    }
  }
  /** Stores the instant of the deletion, or null, and returns the row after it. */
  const mark = async (tx: Tx, { reach, id }: RowTarget, row: AnyRow, values: AnyRow) => {
    for (const field of updateStamps) values[field] = timeOf(tx, clock)
    await store.update(tx, reach.scope, id, values)
    return { ...row, ...values }
  }
  const remove = async (tx: Tx, target: RowTarget, row: AnyRow): Promise<AnyRow> => {
    const { reach, id } = target
    if (softDeletion) return mark(tx, target, row, { [DELETED_FIELD]: timeOf(tx, clock) })
    await store.remove(tx, reach.scope, id)
    await credentials?.remove(tx, credentialOf(target))
    return row
  }
  return {
    async remove(tx, target) {
      const row = await lock(tx, target)
      const { reach, id } = target
      await credentials?.authorize(tx, credentialOf(target), 'none')
      if (rules.length > 0) await runRules(tx, target, 'delete', { before: row })
      await releaseReferrers(tx, target, softDeletion !== undefined)
      const after = await remove(tx, target, row)
      noteRestricted(target, row)
      addToTotal(tx, reach.scope, name, id, -1)
      await recordEvent(tx, reach, eventType('deleted'), after)
    },
    async restore(tx, target) {
      const { reach, id, guard } = target
      const cells = await store.lockDeleted(tx, reach, id)
      if (!cells) {
        await lock(tx, { reach, id })
        throw new Failure('invalid_state', 'The row is not deleted.')
      }
      const row = decode(cells)
      guard?.(row)
      const values = await complete(tx, target, 'restore', row, {})
      const restored = { ...row, ...values, [DELETED_FIELD]: null }
      checks.checkRules(restored)
      const changes = { ...values, [DELETED_FIELD]: null }
      const after = await checks.checkUnique(() => mark(tx, target, row, changes))
      // The row may refer to itself.
      await checks.checkReferences(tx, reach, restored)
      addToTotal(tx, reach.scope, name, id, 1)
      return recordEvent(tx, reach, eventType('restored'), after)
    },
    async erase(tx, target) {
      const cells = target.cascade && (await store.lockDeleted(tx, target.reach, target.id))
      await releaseReferrers(tx, target, false)
      if (cells) noteRestricted(target, decode(cells))
      await store.remove(tx, target.reach.scope, target.id)
    },
  }
}

export const credentialOf = ({ reach, id, actor }: RowTarget): CredentialTarget => ({
  scope: reach.scope as Scope,
  id: id as number, // rows that sign in have integer ids
  principal: reach.principal,
  actor,
})

/** A reference to the row that is deleted. */
interface Referrer {
  readonly resource: string
  /** In messages, which callers read: none names a resource of own code alone (§15.1). */
  readonly words: string
  readonly field: string
  /** The reference inside the value of the field. */
  readonly inner?: InnerReference
  readonly effect: 'restrict' | 'cascade' | 'setNull'
}

/** Returns the field of a row without the reference to an id. */
const clearedField = ({ field, inner }: Referrer, row: AnyRow, id: RowId): AnyRow => ({
  [field]: inner ? withoutId(row[field], inner, id) : null,
})

/**
 * Returns a function that deletes or clears the rows that refer to a row, each with its event. It
 * throws `conflict` if a reference restricts the deletion. Rows that are marked as deleted do not
 * count when the row itself is only marked; when it is deleted for good, they are as well.
 */
function referrerRelease({ name }: ResourceDefinition, { rowsOf, resources }: RowDeps) {
  const referrers: readonly Referrer[] = referrersOf(name, resources)
  const stillReferred = (words: string) =>
    new Failure('conflict', `Rows of ${words} still refer to this row of ${name}.`)
  const releaseLive = async (tx: Tx, referrer: Referrer, next: RowTarget, id: RowId) => {
    const { resource, words, effect } = referrer
    const { cascade } = next
    const isCircle = cascade!.deleted.has(`${resource} ${next.id}`)
    if (effect === 'restrict' || (effect === 'cascade' && isCircle)) {
      throw stillReferred(words)
    }
    if (effect === 'cascade') await rowsOf(resource).remove(tx, next)
    else await rowsOf(resource).update(tx, next, (row) => clearedField(referrer, row, id))
  }
  const releaseDeleted = async (tx: Tx, referrer: Referrer, next: RowTarget, id: RowId) => {
    const { resource, words, effect } = referrer
    if (effect === 'restrict') {
      const message = `Deleted rows of ${words} still refer to this row of ${name}.`
      throw new Failure('conflict', message)
    }
    const { scope } = next.reach
    const { store, decode, erase } = rowsOf(resource)
    if (effect === 'cascade') return erase(tx, next)
    const cells = referrer.inner && (await store.lockDeleted(tx, next.reach, next.id))
    const row: AnyRow = cells ? decode(cells) : {}
    await store.update(tx, scope, next.id, clearedField(referrer, row, id))
  }
  /**
   * Throws `change_too_large` before the first of too many rows, or of too large ones, is read. A
   * row that is marked as deleted is neither read nor has it an event.
   */
  const requireSpace = async (
    tx: Tx,
    scope: number,
    referrer: Referrer,
    reference: RowReference,
  ) => {
    const { resource, words: label, effect } = referrer
    const { definition, store } = rowsOf(resource)
    const { rows, words, bytes } = await store.measureReferences(tx, scope, reference)
    const suffix = effect === 'cascade' ? 'deleted' : 'updated'
    const hasEvent = definition.events.some((type) => type.endsWith(`.${suffix}`))
    const copies = reference.isDeleted ? 0 : hasEvent ? 2 : 1
    const cost = {
      rows: rows * Math.max(1, copies),
      words: effect === 'cascade' ? words : 0,
      bytes: bytes * copies,
    }
    const verb = effect === 'cascade' ? 'Delete' : 'Change'
    const advice = `${verb} rows of ${label} that refer to this row of ${name} first.`
    budgetOf(tx).require(cost, advice)
  }
  return async (tx: Tx, target: RowTarget, isMarked: boolean): Promise<void> => {
    const { reach, id, actor, cascade = { deleted: new Set(), restricted: new Map() } } = target
    const restricting = cascade.restricted.get(`${name} ${id}`)
    if (restricting !== undefined) throw stillReferred(restricting)
    cascade.deleted.add(`${name} ${id}`)
    const all = { ...wholeScope(reach.scope), principal: reach.principal }
    for (const referrer of referrers) {
      const { store } = rowsOf(referrer.resource)
      const isOwn = referrer.resource === name && referrer.effect !== 'setNull'
      const release = async (isDeleted: boolean) => {
        const { field, inner } = referrer
        const reference = { field, inner, id, isDeleted }
        const next = (after?: ReferrerPlace) =>
          store.findReferenceTo(tx, reach.scope, reference, after)
        const find = async (after?: ReferrerPlace) => {
          const other = await next(after)
          // Its own reference ends with the row.
          return other?.id === id && isOwn ? next(other) : other
        }
        let other = await find()
        if (other !== undefined && referrer.effect !== 'restrict') {
          await requireSpace(tx, reach.scope, referrer, reference)
        }
        while (other !== undefined) {
          const row = { reach: all, id: other.id, actor, cascade }
          await (isDeleted ? releaseDeleted : releaseLive)(tx, referrer, row, id)
          // The search continues after the row, because an index still has its entry. At the end it
          // begins again: a rule may have changed rows before.
          other = (await find(other)) ?? (await find())
        }
      }
      await release(false)
      if (!isMarked) await release(true)
    }
  }
}

/** Returns the name of a resource in messages. */
const wordsOf = (resource: ResourceDefinition): string =>
  hasApi(resource) ? resource.name : 'own code'

/**
 * Returns a function that lists the rows to which a row refers by a restricting reference, and
 * which a cascade can delete.
 */
function restrictedTargets(
  { fields }: ResourceDefinition,
  resources: readonly ResourceDefinition[],
): (row: AnyRow) => readonly string[] {
  const dependents = resources.filter((resource) =>
    Object.values(resource.fields).some(({ onDelete }) => onDelete === 'cascade'),
  )
  const names = new Set(dependents.map(({ name }) => name))
  const isRestricting = ({ target, onDelete = 'restrict' }: FieldSpec) =>
    target !== undefined && names.has(target) && onDelete === 'restrict'
  const direct = Object.entries(fields).filter(([, spec]) => isRestricting(spec))
  const inner = innerReferencesOf(fields).filter(({ spec }) => isRestricting(spec))
  return (row) => [
    ...direct.map(([field, { target }]) => `${target} ${row[field]}`),
    ...inner.flatMap(({ field, steps, spec: { target } }) =>
      Array.from(idsInside(row[field], steps).keys(), (id) => `${target} ${id}`),
    ),
  ]
}

/** Returns the fields of all resources that refer to a resource. */
const referrersOf = (target: string, resources: readonly ResourceDefinition[]): Referrer[] =>
  resources.flatMap((resource) => {
    const words = wordsOf(resource)
    const direct = Object.entries(resource.fields).map(([field, spec]) => ({ field, spec }))
    const inner = innerReferencesOf(resource.fields).map((reference) => ({
      ...reference,
      inner: reference,
    }))
    return [...direct, ...inner]
      .filter(({ spec }) => spec.target === target)
      .map(({ spec: { onDelete: effect = 'restrict' }, ...reference }) => ({
        resource: resource.name,
        words,
        ...reference,
        effect,
      }))
  })
