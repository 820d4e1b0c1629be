/**
 * §11.5: when a client does not read its responses, the server rejects its next page after few
 * rows.
 */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { resourceCollection } from '../../src/declare/resources/table.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { Query } from '../../src/protocol/http/query.ts'
import type { View } from '../../src/protocol/lists/collection.ts'
import { parseListQuery } from '../../src/protocol/lists/grammar.ts'
import { type ListTask, readKeysetPage } from '../../src/protocol/lists/page.ts'
import { uncountedWork } from '../fixtures/uncounted-work.ts'
import { fill } from './rows.ts'

const papers = resource('papers', {
  fields: { id: f.id(), text: f.string().max(65_536) },
  list: { filter: [], sort: ['id'] },
  access: { read: 'papers:read', create: false, update: false, delete: false },
  events: [],
})
const archive = service({
  name: 'Archive',
  versions: { v1: { released: '2025-06-01' } },
  resources: [papers],
})

const KIB = 1024
const ROW_BYTES = 100 * KIB
const large = `"${'x'.repeat(ROW_BYTES - 3)}"`

eachService(
  'a page that exceeds the bytes of a client is rejected after few rows',
  async ({ app: { db } }) => {
    const scope = await fill(db, 'papers', 200, { text: "'short'" })
    const collection = resourceCollection(papers.definition)
    const view = { fields: ['id', 'text'] } as unknown as View
    let rows = 0
    const arrays: typeof db.arrays = async (statement) => {
      const nextRows = await db.arrays(statement)
      rows += nextRows.length
      return nextRows
    }
    const task: ListTask = {
      db: { ...db, arrays },
      customer: 1,
      collection,
      rowScope: { scope, owner: undefined },
      request: parseListQuery(new Query([['limit', '100']]), collection, view, 'keyset'),
      encode: () => large,
    }
    const page = await readKeysetPage(task)
    assert.deepEqual([page.items.length, page.more], [Math.floor((8192 - 64) / 100), true])
    rows = 0
    const overloaded = (error: unknown) => error instanceof Failure && error.code === 'overloaded'
    let sumBytes = 0
    const count = (bytes: number) => {
      sumBytes += bytes
      return undefined
    }
    const bounds = { mostBytes: 600 * KIB, count, measure: uncountedWork.measure }
    await assert.rejects(readKeysetPage({ ...task, work: bounds }), overloaded)
    assert.ok(sumBytes > bounds.mostBytes)
    assert.ok(rows * ROW_BYTES < 1024 * KIB, `${rows} rows`)
    rows = 0
    const request = { ...task.request, limit: 5 }
    const small = await readKeysetPage({ ...task, request, work: bounds })
    assert.deepEqual([small.items.length, rows], [5, 6])
  },
  { service: archive },
)
