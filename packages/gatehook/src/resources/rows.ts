/**
 * What can happen to a row: created, changed, acted on, deleted. Each is one transaction with its
 * events, its counter and its checks (§6.5). Knows the newest shape only.
 */
import type { Actor } from '../audit/store.ts'
import type { RecordEvent } from '../events/store.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import type { Principal, Scope } from '../kernel/principal.ts'
import { count } from '../lists/counters.ts'
import type { Reader, Tx } from '../storage/database.ts'
import { createChecks } from './checks.ts'
import type { RowReach } from './ownership.ts'
import { type ActionDefinition, type AnyRow, type Definition, STATE_FIELD } from './resource.ts'
import { decoder, type Shape } from './shape.ts'
import { createRowStore, type RowStore } from './store.ts'

/** A row and its JSON text in the newest shape: the event's object, and mostly the answer too. */
export interface Written {
  readonly row: AnyRow
  readonly text: string
}

/** The row that is meant, and what its present state has to pass before anything is done to it. */
export interface Target {
  readonly reach: RowReach
  readonly id: number
  readonly guard?: (row: AnyRow) => void
  /** Of the audit trail, where the change touches a credential; without one, the engine. */
  readonly actor?: Actor | undefined
}

/** From a row locked for the change to the fields that change. */
export type Edit = (row: AnyRow) => AnyRow

export interface Rows {
  readonly definition: Definition
  readonly newest: Shape
  readonly store: RowStore
  /** The row, or `not_found`: a row out of reach looks like none. */
  get(reader: Reader, reach: RowReach, id: number): Promise<AnyRow>
  /** Fields left out have their defaults. */
  create(tx: Tx, reach: RowReach, values: AnyRow): Promise<Written>
  update(tx: Tx, target: Target, edit: Edit): Promise<Written>
  act(tx: Tx, target: Target, action: ActionDefinition, input: AnyRow): Promise<Written>
  remove(tx: Tx, target: Target): Promise<void>
}

/** The row of a credential, and the principal that changes it; undefined: the engine itself. */
export interface CredentialTarget {
  readonly scope: Scope
  readonly id: number
  readonly principal: Principal | undefined
  readonly actor: Actor | undefined
}

/** The credentials of rows that sign in follow them, in their transaction (§6.3, §6.8, §6.9). */
export interface Credentials {
  /**
   * Before the row is renamed, given another e-mail address or deleted. Throws 403
   * `insufficient_scope` where only `admin` may.
   */
  authorize(tx: Tx, target: CredentialTarget): Promise<void>
  /**
   * `fields` of the row changed; `username` is its sign-in name now. Throws `conflict` where
   * another row signs in with it.
   */
  rename(
    tx: Tx,
    target: CredentialTarget,
    fields: readonly string[],
    username: unknown,
  ): Promise<void>
  remove(tx: Tx, target: CredentialTarget): Promise<void>
}

export interface RowDeps {
  readonly clock: Clock
  readonly record: RecordEvent
  readonly counterSlots: number
  /** The rows of a resource by name: references look there. */
  readonly rowsOf: (resource: string) => Rows
  /** Definitions whose fields point to this resource. */
  readonly pointers: readonly { readonly resource: string; readonly field: string }[]
  /** Every resource of the service. */
  readonly resources: readonly Definition[]
  /** Given where this resource's rows sign in. */
  readonly credentials?: Credentials | undefined
}

export function createRows(definition: Definition, newest: Shape, deps: RowDeps): Rows {
  const { name } = definition
  const store = createRowStore(definition, deps.resources)
  const decode = decoder(definition)
  const steps = stepsOf(definition, newest, store, deps)
  const { locked, change, told, counted } = steps
  const eventFor = (suffix: string) => definition.events.find((type) => type.endsWith(`.${suffix}`))
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
      const row = await steps.inserted(tx, reach, values)
      await counted(tx, reach, row, 1)
      return told(tx, reach, eventFor('created'), row)
    },
    async update(tx, target, edit) {
      const row = await locked(tx, target)
      const after = await change(tx, target, row, edit(row))
      // A patch that says what is already so tells nobody.
      return told(tx, target.reach, after && eventFor('updated'), after ?? row)
    },
    async act(tx, target, action, input) {
      const row = await locked(tx, target)
      if (action.from && !action.from.includes(row[STATE_FIELD] as string)) {
        throw wrongState(action, row[STATE_FIELD] as string)
      }
      const wanted: AnyRow = { ...action.run?.({ row, input }) }
      if (action.to !== undefined) wanted[STATE_FIELD] = action.to
      const after = await change(tx, target, row, wanted)
      return told(tx, target.reach, action.emits, after ?? row)
    },
    async remove(tx, target) {
      const row = await locked(tx, target)
      const { reach, id } = target
      const held = credentialOf(target)
      await deps.credentials?.authorize(tx, held)
      for (const { resource, field } of deps.pointers) {
        if (await deps.rowsOf(resource).store.pointsTo(tx, reach.scope, field, id)) {
          throw new Failure('conflict', `This row of ${name} is still named by ${resource}.`)
        }
      }
      await store.remove(tx, reach.scope, id)
      await deps.credentials?.remove(tx, held)
      await counted(tx, reach, row, -1)
      await told(tx, reach, eventFor('deleted'), row)
    },
  }
}

const credentialOf = ({ reach, id, actor }: Target): CredentialTarget => ({
  scope: reach.scope as Scope,
  id,
  principal: reach.principal,
  actor,
})

/** The fields that say who a person is: the sign-in name, the name, e-mail addresses. */
const identityOf = ({ fields, signsIn }: Definition): ReadonlySet<string> =>
  new Set(
    Object.keys(fields).filter(
      (name) => name === signsIn?.username || name === 'name' || fields[name]!.kind === 'email',
    ),
  )

/** What the changes of a row are made of. */
function stepsOf(definition: Definition, newest: Shape, store: RowStore, deps: RowDeps) {
  const { clock, record, rowsOf, counterSlots, credentials } = deps
  const { name, fields } = definition
  const checks = createChecks(definition, (resource) => rowsOf(resource).store)
  const decode = decoder(definition)
  const stamps = (...kinds: readonly (string | undefined)[]) =>
    Object.keys(fields).filter(
      (field) => fields[field]?.stamp && kinds.includes(fields[field].stamp),
    )
  const [made, changed] = [stamps('created', 'updated'), stamps('updated')]
  const identity = identityOf(definition)
  const username = definition.signsIn?.username
  return {
    async locked(tx: Tx, { reach, id, guard }: Target): Promise<AnyRow> {
      const cells = await store.lock(tx, reach, id)
      if (!cells) throw new Failure('not_found')
      const row = decode(cells)
      guard?.(row)
      return row
    },
    async inserted(tx: Tx, reach: RowReach, values: AnyRow): Promise<AnyRow> {
      const now = clock.now()
      const row: AnyRow = { ...newest.defaults, ...values }
      for (const field of made) row[field] = now
      checks.rules(row)
      await checks.references(tx, reach, row)
      row.id = await checks.unique(() => store.insert(tx, reach.scope, row))
      return row
    },
    /** Writes what differs; undefined where nothing does. */
    async change(tx: Tx, target: Target, row: AnyRow, wanted: AnyRow): Promise<AnyRow | undefined> {
      const differs = Object.entries(wanted).filter(([field, value]) => value !== row[field])
      if (differs.length === 0) return undefined
      const values: AnyRow = Object.fromEntries(differs)
      for (const field of changed) values[field] = clock.now()
      const after: AnyRow = { ...row, ...values }
      const named = credentials ? Object.keys(values).filter((name) => identity.has(name)) : []
      const held = credentialOf(target)
      const { reach } = target
      if (named.length > 0) await credentials?.authorize(tx, held)
      checks.rules(after)
      await checks.references(tx, reach, values)
      await checks.unique(() => store.update(tx, reach.scope, row.id as number, values))
      if (named.length > 0) await credentials?.rename(tx, held, named, after[username!])
      return after
    },
    counted: (tx: Tx, { scope }: RowReach, row: AnyRow, by: 1 | -1) =>
      count(tx, counterSlots, scope, name, row.id as number, by),
    /** The row's text, and the event of it where there is one. */
    async told(
      tx: Tx,
      { scope }: RowReach,
      type: string | undefined,
      row: AnyRow,
    ): Promise<Written> {
      const text = newest.encode(row)
      const event = { collection: name, objectId: row.id as number, object: text }
      if (type) await record(tx, scope as Scope, { type, ...event })
      return { row, text }
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
