/** §18.11: every stored column says what it contains, every table to whom its rows belong. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { engineTables } from '../../src/engine-tables.ts'
import { listTables } from '../../src/platform/storage/move/tables.ts'
import type { Table } from '../../src/platform/storage/table.ts'

const OWNERS = { scope: 'scope', customer: 'customer', customer_no: 'customerNo' } as const

const ownerOf = ({ belongs }: Table) => (belongs === 'installation' ? undefined : belongs)

test('a table with the column of a customer belongs to the customer', () => {
  for (const table of engineTables) {
    const column = Object.keys(OWNERS).find((name) => name in table.columns)
    const owner = ownerOf(table)
    if (table.name === 'gh_customers') assert.deepEqual(owner, { customerNo: 'no' })
    else if (column === undefined) assert.equal(owner, undefined, table.name)
    else assert.equal(owner?.[OWNERS[column as keyof typeof OWNERS]], column, table.name)
  }
})

test('hashes and encrypted values are secret, and no personal column is part of a key', () => {
  for (const { name, columns, key, encrypted = {} } of engineTables) {
    for (const [column, { kind, content }] of Object.entries(columns)) {
      const isHidden = kind === 'bytes' || column in encrypted
      if (isHidden) assert.equal(content, 'secret', `${name}.${column}`)
      if (name !== 'gh_quota') assert.ok(content !== 'personal' || !key.includes(column), name)
    }
  }
})

const OF_RESOURCES = /^gh_words_/

eachService('the database has no table and no column that is not declared', async ({ app }) => {
  const declared = new Map(engineTables.map((table) => [table.name, table]))
  const names = (await listTables(app.db)).filter((name) => /^gh_/.test(name))
  assert.ok(names.length >= 40)
  for (const name of names.filter((name) => !OF_RESOURCES.test(name))) {
    const table = declared.get(name)
    assert.ok(table, name)
    for (const column of await app.db.columns(name)) {
      assert.ok(table.columns[column.name]?.content, `${name}.${column.name}`)
    }
  }
})
