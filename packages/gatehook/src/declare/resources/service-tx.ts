/**
 * The access of own code to rows: reads within the caller's reach, and changes with their events in
 * one transaction.
 */
import type { Actor } from '../../history/audit/actor.ts'
import type { RecordEvent } from '../../history/events/store.ts'
import { steadyNow } from '../../kernel/clock.ts'
import { Failure, failures } from '../../kernel/failure.ts'
import { type Principal, personIdOf } from '../../kernel/principal.ts'
import { isRowId, type RowId } from '../../kernel/row-id.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import { timeOf } from '../../platform/storage/transaction-time.ts'
import { type AwaitedWords, handled, mapWords, type Word } from './awaited-words.ts'
import type { Catalog, CatalogEntry } from './catalog-entry.ts'
import { requireOtherRow } from './changed-rows.ts'
import type { OwnEvent } from './own-event.ts'
import { type AnyListOptions, listRows } from './own-list.ts'
import {
  createOwnReader,
  createOwnSqlTx,
  type ReachedTables,
  type TableReference,
} from './own-sql.ts'
import {
  memberReader,
  readChangedValues,
  readNewValues,
  readRowChanges,
  requireNoState,
} from './own-values.ts'
import type { RowOperation, RowReach } from './ownership.ts'
import type { HandlerTurns } from './read-turns.ts'
import { runOnce } from './repeat-keys.ts'
import type { AnyResource, AnyRow, ResourceDefinition } from './resource.ts'
import type { RowViews } from './row-views.ts'
import { uniqueTuples } from './table.ts'
import { tableColumns, tableSql } from './table-rows.ts'
import { WordTurns } from './word-turns.ts'

const entryOf = (catalog: Catalog, { definition }: AnyResource): CatalogEntry => {
  const entry = catalog.entries.get(definition.name)
  if (!entry) throw new Error(`the service has no resource ${definition.name}`)
  return entry
}

/**
 * Accesses the row of an id. Throws `not_found` for an id that no row has, such as the number of a
 * malformed parameter. In a job no path of a request names the missing row: the message does.
 */
async function accessRow<T>(
  { definition: { name, fields } }: CatalogEntry,
  { principal }: RowReach,
  id: RowId,
  access: () => Promise<T>,
): Promise<T> {
  try {
    if (!isRowId(fields.id!.idPrefix, id)) throw new Failure('not_found')
    return await access()
  } catch (error) {
    const isUnnamed = error instanceof Failure && error.message === failures.not_found[1]
    if (principal?.kind !== 'job' || !isUnnamed) throw error
    throw new Failure('not_found', `${name} ${id} does not exist`)
  }
}

/** Returns the rows of a resource that the code reaches. */
export type ReachOf = (entry: CatalogEntry, operation: RowOperation) => RowReach

/** The reach of the caller (§6.7). */
export const callersReach =
  (principal: Principal): ReachOf =>
  (entry, operation) =>
    entry.reach(principal, operation)

/** Returns the fields of the unique tuple that has these names. Throws for others. */
function uniqueFieldsOf(definition: ResourceDefinition, values: AnyRow): readonly string[] {
  const names = Object.keys(values)
  const tuples = uniqueTuples(definition)
  const tuple = tuples.find(
    (members) => members.length === names.length && members.every((name) => names.includes(name)),
  )
  if (tuple) return tuple
  const others = tuples.map((members) => members.join(' and ')).join('; ') || 'none'
  const source = `find(${definition.name})`
  throw new Error(`${source}: ${names.join(' and ')} is not unique; unique are: ${others}`)
}

/** Returns the rows that `get` of the same context reaches, as tables of a statement. */
function tablesInReach({ entries, service, database }: Catalog, reach: ReachOf): ReachedTables {
  const entryOf = ({ resource }: TableReference) => {
    const entry = entries.get(resource)
    if (!entry) throw new Error(`the service has no resource ${resource}`)
    return entry
  }
  return {
    expand(table) {
      const entry = entryOf(table)
      return tableSql(entry.definition, service.resources, reach(entry, 'read'), table, database)
    },
    columnsOf: (table) => tableColumns(entryOf(table).definition, table),
  }
}

type Register = Pick<RowViews, 'register'>

/**
 * Creates the `ServiceReader` of a handler, whose reads take turns. A rejected read that no code
 * awaits is no event.
 */
export function createServiceReader(
  catalog: Catalog,
  { take }: Pick<HandlerTurns, 'take'>,
  reach: ReachOf,
  db: Reader,
  views: Register,
) {
  const { sql, ...reads } = readerOf(catalog, reach, db, views)
  const inTurn = (word: Word) => handled((...given) => take(word, ...given))
  return { ...mapWords(reads, inTurn), sql: mapWords(sql, inTurn) }
}

function readerOf(catalog: Catalog, reach: ReachOf, sql: Reader, { register }: Register) {
  return {
    sql: createOwnReader(sql, tablesInReach(catalog, reach)),
    async get(resource: AnyResource, id: RowId): Promise<AnyRow> {
      const entry = entryOf(catalog, resource)
      const rowReach = reach(entry, 'read')
      const read = () => entry.rows.get(sql, rowReach, id)
      return register(entry, await accessRow(entry, rowReach, id, read))
    },
    async find(resource: AnyResource, values: AnyRow): Promise<AnyRow | undefined> {
      const entry = entryOf(catalog, resource)
      const { definition, rows } = entry
      const fields = uniqueFieldsOf(definition, values)
      const { values: valid, errors } = rows.newest.validators.converted(values)
      // No row has a value that its field rejects. A value of another type is a bug of the code.
      const isImpossible = errors.length > 0 && errors.every(({ code }) => code !== 'invalid_type')
      if (isImpossible) return undefined
      readChangedValues(rows.newest, `find(${definition.name})`, values)
      // A row with null in one of them equals no other row.
      if (fields.some((name) => (valid[name] ?? null) === null)) return undefined
      const row = await rows.findUnique(sql, reach(entry, 'read'), fields, valid)
      return row && register(entry, row)
    },
    async list(resource: AnyResource, options?: AnyListOptions): Promise<AnyRow[]> {
      const entry = entryOf(catalog, resource)
      const rows = await listRows(catalog, entry, sql, reach(entry, 'read'), options)
      return rows.map((row) => register(entry, row))
    },
  }
}

interface ServiceTxDeps {
  readonly principal: Principal
  readonly actor: Actor | undefined
  readonly reach: ReachOf
  readonly record: RecordEvent
  readonly views: Pick<RowViews, 'register'>
}

export type OwnTx = ReturnType<typeof createServiceTx>

/**
 * Runs own code with a `ServiceTx`: rows, events and SQL in one transaction. Throws if it ends
 * before one of its words, so that no part of a change commits.
 */
export async function withServiceTx<T>(
  catalog: Catalog,
  deps: ServiceTxDeps,
  sql: Tx,
  code: (tx: OwnTx, words: AwaitedWords) => T | Promise<T>,
): Promise<T> {
  const turns = new WordTurns(sql, () => catalog.readTurns.open(deps.principal.scope))
  return turns.run((words) => code(createServiceTx(catalog, deps, sql, turns), words))
}

function createServiceTx(catalog: Catalog, deps: ServiceTxDeps, db: Tx, turns: WordTurns) {
  const { afterCommit, attempt, ...sql } = createOwnSqlTx(db, tablesInReach(catalog, deps.reach))
  const changes = { ...createChanges(catalog, deps, db), ...createEffects(catalog, deps, db) }
  const inTurn = (source: string) => (word: Word, name: string) =>
    turns.inTurn(`${source}.${name}`, word)
  return {
    ...mapWords(changes, inTurn('tx')),
    sql: {
      ...mapWords(sql, inTurn('tx.sql')),
      attempt: turns.attempt('tx.sql.attempt', attempt),
      afterCommit,
    },
    now: timeOf(db, catalog.clock),
  }
}

/** Creates the functions that read and change rows. */
function createChanges(catalog: Catalog, { actor, reach, views }: ServiceTxDeps, sql: Tx) {
  const { register } = views
  const { sql: _, ...reads } = readerOf(catalog, reach, sql, views)
  return {
    ...reads,
    async lock(resource: AnyResource, id: RowId): Promise<AnyRow> {
      const entry = entryOf(catalog, resource)
      const target = { reach: reach(entry, 'read'), id }
      const lock = () => entry.rows.lock(sql, target)
      return register(entry, await accessRow(entry, target.reach, id, lock))
    },
    async create(resource: AnyResource, values: AnyRow): Promise<AnyRow> {
      const entry = entryOf(catalog, resource)
      const source = `tx.create(${entry.definition.name})`
      const row = readNewValues(entry.rows.newest, source, values)
      return register(entry, (await entry.rows.create(sql, reach(entry, 'create'), row)).row)
    },
    async update(resource: AnyResource, id: RowId, patch: AnyRow): Promise<AnyRow> {
      const entry = entryOf(catalog, resource)
      requireNoState(entry.definition, `tx.update(${entry.definition.name})`, patch)
      const target = { reach: reach(entry, 'change'), id, actor }
      const source = `tx.update(${entry.definition.name})`
      const edit = (row: AnyRow) => readRowChanges(entry.rows.newest, source, patch, row)
      const update = () => entry.rows.update(sql, target, edit)
      return register(entry, (await accessRow(entry, target.reach, id, update)).row)
    },
    async remove(resource: AnyResource, id: RowId): Promise<void> {
      const entry = entryOf(catalog, resource)
      const target = { reach: reach(entry, 'change'), id, actor }
      return accessRow(entry, target.reach, id, () => entry.rows.remove(sql, target))
    },
  }
}

/** Creates the functions that run actions, record events and enqueue jobs. */
function createEffects(
  catalog: Catalog,
  { principal, actor, reach, record, views }: ServiceTxDeps,
  sql: Tx,
) {
  const { scope } = principal
  // By the time of the transaction, keys would end with a step of the clock.
  const now = steadyNow(catalog.clock)
  return {
    async act(resource: AnyResource, id: RowId, name: string, input: AnyRow = {}): Promise<AnyRow> {
      const entry = entryOf(catalog, resource)
      const source = `tx.act(${entry.definition.name}, ${name})`
      const action = entry.definition.actions.find((other) => other.name === name)
      if (!action) throw new Error(`${source}: there is no such action`)
      requireOtherRow(sql, entry.definition, id, source)
      const target = { reach: reach(entry, 'change'), id, actor }
      const values = memberReader(action.input)(source, input)
      const act = () => entry.rows.act(sql, target, action, values)
      return views.register(entry, (await accessRow(entry, target.reach, id, act)).row)
    },
    async emit(
      { definition }: OwnEvent,
      object: RowId | AnyRow,
      { key }: { readonly key?: string } = {},
    ): Promise<void> {
      const { type, resource } = definition
      if (!catalog.service.events.includes(definition)) {
        throw new Error(`tx.emit(${type}): the service declares no such event: add it to events`)
      }
      await runOnce(sql, { scope, word: type, key, now }, async () => {
        if (resource) {
          const entry = catalog.entries.get(resource.name)!
          const rowReach = reach(entry, 'read')
          const id = object as RowId
          await accessRow(entry, rowReach, id, () => entry.rows.emit(sql, rowReach, type, id))
        } else {
          const text = catalog.objectForms.get(type)!.write(object as AnyRow)
          await record(sql, scope, {
            type,
            collection: undefined,
            objectId: undefined,
            subject: personIdOf(principal),
            object: text,
          })
        }
        return ''
      })
    },
    async enqueue(
      { name }: { readonly name: string },
      input: AnyRow,
      { runAt, key }: { readonly runAt?: Date | number; readonly key?: string } = {},
    ): Promise<string> {
      const enqueue = () =>
        catalog.enqueue(sql, scope, { name, subject: personIdOf(principal), input, runAt })
      return runOnce(sql, { scope, word: `job ${name}`, key, now }, enqueue)
    },
  }
}
