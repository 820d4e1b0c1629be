/**
 * §7.9: customers, keys and the audit trail have an index for every declared sort; revoked keys do
 * not slow the list of keys. The tests examine plans of SQLite and measure no time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService } from '../../../../test/rig/service.ts'
import { auditCollection } from '../../src/history/audit/collection.ts'
import { customerTable } from '../../src/identity/access/collections.ts'
import { keyTable } from '../../src/identity/access/key-members.ts'
import type { Key } from '../../src/protocol/lists/cursor.ts'
import { pageStatement } from '../../src/protocol/lists/page-query.ts'
import type { Walk } from '../../src/protocol/lists/walk.ts'

const fixed = {
  scope: 0,
  owner: undefined,
  filters: [],
  terms: [],
  inclusive: false,
  skip: 0,
  limit: 21,
}

/** The first page, a later page, and a page that starts at a NULL. */
function anchorsOf(column: string, nullable: boolean): (readonly Key[] | undefined)[] {
  if (column === 'id') return [undefined, ['m']]
  return [undefined, [5, 'm'], ...(nullable ? [[null, 'm']] : [])]
}

for (const collection of [customerTable.collection, keyTable.collection, auditCollection]) {
  test(`${collection.name}: every declared sort uses an index`, async (t) => {
    const { app } = await openService(t, 'sqlite')
    for (const column of collection.sort) {
      const { nullable = false } = collection.columns.find(({ name }) => name === column)!
      for (const anchor of anchorsOf(column, nullable)) {
        for (const backward of [false, true]) {
          const id = { column: 'id', descending: false }
          const sort = column === 'id' ? [id] : [{ column, descending: false }, id]
          const walk: Walk = { ...fixed, collection, sort, anchor, backward }
          const statement = pageStatement(walk)
          const explained = { ...statement, sql: `EXPLAIN QUERY PLAN ${statement.sql}` }
          const plan = (await app.db.all(explained)).map((line) => String(line.detail))
          const description = `${JSON.stringify({ sort, anchor, backward })}\n${plan.join('\n')}`
          const reads = plan.filter((line) => line.includes(collection.table))
          assert.ok(reads.length > 0, description)
          for (const read of reads) assert.match(read, / USING (COVERING )?INDEX /, description)
          assert.ok(!plan.some((line) => line.includes('TEMP B-TREE')), description)
        }
      }
    }
  })
}
