/**
 * What can happen to a row: created, changed, acted on, deleted. Each is one transaction with its
 * events, its counter and its checks (§6.5). Knows the newest shape only.
 */
import type { NewEvent } from '../events/event.ts'
import type { RecordEvent } from '../events/store.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure, type FieldError } from '../kernel/failure.ts'
import type { Scope } from '../kernel/principal.ts'
import { count } from '../lists/counters.ts'
import type { Reach } from '../lists/walk.ts'
import { ConstraintError, type Reader, type Tx } from '../storage/database.ts'
import { type ActionDefinition, type AnyRow, type Definition, STATE_FIELD } from './resource.ts'
import { decoder, type Shape } from './shape.ts'
import { createRowStore, type RowStore } from './store.ts'
import { uniqueName } from './table.ts'
import { fieldFailure, validationFailure } from './validate.ts'

/** A row and its JSON text in the newest shape: the event's object, and mostly the answer too. */
export interface Written {
  readonly row: AnyRow
  readonly text: string
}

/** The row that is meant, and what its present state has to pass before anything is done to it. */
export interface Target {
  readonly reach: Reach
  readonly id: number
  readonly guard?: (row: AnyRow) => void
}

/** From a row locked for the change to the fields that change. */
export type Edit = (row: AnyRow) => AnyRow

export interface Rows {
  readonly definition: Definition
  readonly newest: Shape
  readonly store: RowStore
  /** The row, or `not_found`: a row out of reach looks like none. */
  get(reader: Reader, reach: Reach, id: number): Promise<AnyRow>
  /** Fields left out have their defaults. */
  create(tx: Tx, reach: Reach, values: AnyRow): Promise<Written>
  update(tx: Tx, target: Target, edit: Edit): Promise<Written>
  act(tx: Tx, target: Target, action: ActionDefinition, input: AnyRow): Promise<Written>
  remove(tx: Tx, target: Target): Promise<void>
}

export interface RowDeps {
  readonly clock: Clock
  readonly record: RecordEvent
  readonly counterSlots: number
  /** The rows of a resource by name: references look there. */
  readonly rowsOf: (resource: string) => Rows
  /** Definitions whose fields point to this resource. */
  readonly pointers: readonly { readonly resource: string; readonly field: string }[]
}

export function createRows(definition: Definition, newest: Shape, deps: RowDeps): Rows {
  const { clock, record, rowsOf, pointers } = deps
  const { name, fields } = definition
  const store = createRowStore(definition)
  const decode = decoder(definition)
  const references = Object.entries(fields).filter(([, spec]) => spec.kind === 'ref')
  const eventFor = (suffix: string) => definition.events.find((type) => type.endsWith(`.${suffix}`))
  const stamps = (kind: 'created' | 'updated') =>
    Object.keys(fields).filter((field) => fields[field]?.stamp === kind)
  const created = stamps('created')
  const updated = stamps('updated')

  const emit = async (
    tx: Tx,
    { scope }: Reach,
    type: string | undefined,
    { row, text }: Written,
  ) => {
    if (!type) return
    const event: NewEvent = { type, collection: name, objectId: row.id as number, object: text }
    await record(tx, scope as Scope, event)
  }

  const checkRules = (row: AnyRow): void => {
    for (const rule of definition.checks) {
      const errors = Object.entries(rule(row) ?? {}).map(
        ([field, message]): FieldError => ({
          pointer: `/${field}`,
          code: 'invalid_value',
          message,
        }),
      )
      if (errors.length > 0) throw validationFailure(errors)
    }
  }

  /**
   * Each id that is about to be stored names a row of the same customer and mode (§6.4); a person
   * gives its rows to nobody else (§6.7).
   */
  const checkReferences = async (tx: Tx, reach: Reach, values: AnyRow): Promise<void> => {
    const { scope, owner } = reach
    for (const [field, spec] of references) {
      const id = values[field] as number | null | undefined
      if (id === undefined || id === null) continue
      const foreign = spec.owner && owner !== undefined && id !== owner
      const target = rowsOf(spec.target!).store
      if (!foreign && (await target.hold(tx, { scope, owner: undefined }, id))) continue
      const message = `names no row of ${spec.target}`
      throw validationFailure([{ pointer: `/${field}`, code: 'not_found', message }])
    }
  }

  const unique = async <T>(change: () => Promise<T>): Promise<T> => {
    try {
      return await change()
    } catch (error) {
      if (!(error instanceof ConstraintError) || error.kind !== 'unique') throw error
      const field = Object.keys(fields).find((one) => uniqueName(name, one) === error.index)
      if (field === undefined) throw error
      const message = 'is taken already'
      throw fieldFailure('conflict', [{ pointer: `/${field}`, code: 'conflict', message }])
    }
  }

  const locked = async (tx: Tx, { reach, id, guard }: Target): Promise<AnyRow> => {
    const cells = await store.lock(tx, reach, id)
    if (!cells) throw new Failure('not_found')
    const row = decode(cells)
    guard?.(row)
    return row
  }

  /** Writes what differs; undefined where nothing does. */
  const change = async (
    tx: Tx,
    reach: Reach,
    row: AnyRow,
    wanted: AnyRow,
  ): Promise<AnyRow | undefined> => {
    const differs = Object.entries(wanted).filter(([field, value]) => value !== row[field])
    if (differs.length === 0) return undefined
    const changed: AnyRow = Object.fromEntries(differs)
    for (const field of updated) changed[field] = clock.now()
    const after = { ...row, ...changed }
    checkRules(after)
    await checkReferences(tx, reach, changed)
    await unique(() => store.update(tx, reach.scope, row.id as number, changed))
    return after
  }

  const written = (row: AnyRow): Written => ({ row, text: newest.encode(row) })

  return {
    definition,
    newest,
    store,
    async get(reader, reach, id) {
      const cells = await store.find(reader, reach, id)
      if (!cells) throw new Failure('not_found')
      return decode(cells)
    },
    async create(tx, reach, values) {
      const now = clock.now()
      const row: AnyRow = { ...newest.defaults, ...values }
      for (const field of [...created, ...updated]) row[field] = now
      checkRules(row)
      await checkReferences(tx, reach, row)
      row.id = await unique(() => store.insert(tx, reach.scope, row))
      await count(tx, deps.counterSlots, reach.scope, name, row.id as number, 1)
      const made = written(row)
      await emit(tx, reach, eventFor('created'), made)
      return made
    },
    async update(tx, target, edit) {
      const row = await locked(tx, target)
      const after = await change(tx, target.reach, row, edit(row))
      const now = written(after ?? row)
      // A patch that says what is already so tells nobody.
      if (after) await emit(tx, target.reach, eventFor('updated'), now)
      return now
    },
    async act(tx, target, action, input) {
      const row = await locked(tx, target)
      if (action.from && !action.from.includes(row[STATE_FIELD] as string)) {
        throw wrongState(action, row[STATE_FIELD] as string)
      }
      const wanted: AnyRow = { ...action.run?.({ row, input }) }
      if (action.to !== undefined) wanted[STATE_FIELD] = action.to
      const now = written((await change(tx, target.reach, row, wanted)) ?? row)
      await emit(tx, target.reach, action.emits, now)
      return now
    },
    async remove(tx, target) {
      const row = await locked(tx, target)
      const { reach, id } = target
      for (const { resource, field } of pointers) {
        if (await rowsOf(resource).store.pointsTo(tx, reach.scope, field, id)) {
          throw new Failure('conflict', `This row is still named by ${resource}.`)
        }
      }
      await store.remove(tx, reach.scope, id)
      await count(tx, deps.counterSlots, reach.scope, name, id, -1)
      await emit(tx, reach, eventFor('deleted'), written(row))
    },
  }
}

function wrongState(action: ActionDefinition, state: string): Failure {
  const from = action.from?.join(' or ')
  return new Failure(
    'invalid_state',
    `"${action.name}" is possible from ${from}; the present state is ${state}.`,
    {
      errors: [
        { pointer: `/${STATE_FIELD}`, code: 'invalid_state', message: `is ${state}, not ${from}` },
      ],
    },
  )
}
