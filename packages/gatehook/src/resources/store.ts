/** SQL of one resource's rows. Every statement begins with whose rows it may touch (§1.1, §6.7). */
import { ownerCondition } from '../lists/collection.ts'
import type { Reach } from '../lists/walk.ts'
import type { Reader, Tx, Value } from '../storage/database.ts'
import { fixed, type Prepared } from '../storage/sql.ts'
import { ownerPathOf } from './ownership.ts'
import type { Definition } from './resource.ts'
import { toCell } from './shape.ts'

export interface RowStore {
  /** The cells of one row in declared order. */
  find(reader: Reader, reach: Reach, id: number): Promise<Value[] | undefined>
  /** `find`, and the row stays as it is until the transaction ends. */
  lock(tx: Tx, reach: Reach, id: number): Promise<Value[] | undefined>
  /** Whether the row is in reach; it is not deleted until the transaction ends. */
  hold(tx: Tx, reach: Reach, id: number): Promise<boolean>
  insert(tx: Tx, scope: number, row: Readonly<Record<string, unknown>>): Promise<number>
  update(
    tx: Tx,
    scope: number,
    id: number,
    changed: Readonly<Record<string, unknown>>,
  ): Promise<void>
  remove(tx: Tx, scope: number, id: number): Promise<void>
  /** Whether a row of this resource points with `field` to `id`. */
  pointsTo(reader: Reader, scope: number, field: string, id: number): Promise<boolean>
}

/** `resources`: those the rows may be owned through (§6.7). */
export function createRowStore(definition: Definition, resources: readonly Definition[]): RowStore {
  const { name: table } = definition
  const names = Object.keys(definition.fields)
  const written = names.filter((name) => name !== 'id')
  const select = `SELECT ${names.join(', ')} FROM ${table} WHERE scope = ? AND id = ?`
  const byId = reachable(select, definition, resources)
  const present = reachable(
    `SELECT 1 AS one FROM ${table} WHERE scope = ? AND id = ?`,
    definition,
    resources,
  )
  const insert = fixed(
    `INSERT INTO ${table} (scope, ${written.join(', ')})
     VALUES (${['scope', ...written].map(() => '?').join(', ')})`,
  )
  const remove = fixed(`DELETE FROM ${table} WHERE scope = ? AND id = ?`)
  const updates = new Map<string, Prepared>()
  const pointers = new Map<string, Prepared>()
  const cells = (row: Readonly<Record<string, Value>> | undefined) =>
    row && names.map((name) => row[name]!)
  return {
    find: async (reader, reach, id) => (await reader.arrays(byId(reach, id)))[0],
    lock: async (tx, reach, id) => cells(await tx.lock<Record<string, Value>>(byId(reach, id))),
    hold: async (tx, reach, id) => (await tx.hold(present(reach, id))) !== undefined,
    async insert(tx, scope, row) {
      const values = written.map((name) => toCell(row[name]))
      return tx.insert(insert([scope, ...values]))
    },
    async update(tx, scope, id, changed) {
      const columns = Object.keys(changed)
      const statement = remember(updates, columns.join(), () => {
        const sets = columns.map((name) => `${name} = ?`).join(', ')
        return `UPDATE ${table} SET ${sets} WHERE scope = ? AND id = ?`
      })
      await tx.run(statement([...columns.map((name) => toCell(changed[name])), scope, id]))
    },
    async remove(tx, scope, id) {
      await tx.run(remove([scope, id]))
    },
    async pointsTo(reader, scope, field, id) {
      const statement = remember(
        pointers,
        field,
        () => `SELECT 1 AS one FROM ${table} WHERE scope = ? AND ${field} = ? LIMIT 1`,
      )
      return (await reader.get(statement([scope, id]))) !== undefined
    },
  }
}

/** A statement by scope and id, for every row or for those of one person. */
function reachable(text: string, definition: Definition, resources: readonly Definition[]) {
  const whole = fixed(text)
  const path = ownerPathOf(definition, resources)
  if (!path)
    return ({ scope, owner }: Reach, id: number) => {
      if (owner !== undefined) throw new Error(`rows of ${definition.name} have no owner`)
      return whole([scope, id])
    }
  const slots = { scope: Symbol('scope'), owner: Symbol('owner') }
  const condition = ownerCondition(path, slots.scope, slots.owner)
  const own = fixed(`${text} AND ${condition.sql}`)
  return ({ scope, owner }: Reach, id: number) => {
    if (owner === undefined) return whole([scope, id])
    const values = condition.values.map((slot) => (slot === slots.scope ? scope : owner))
    return own([scope, id, ...values])
  }
}

/** Texts differ by declared names only, so there are few. */
function remember(known: Map<string, Prepared>, key: string, text: () => string): Prepared {
  let statement = known.get(key)
  if (!statement) known.set(key, (statement = fixed(text())))
  return statement
}
