/**
 * §18.11: the export of a person has each of its rows once, also one that moves to another parent,
 * is deleted or restored while the export runs.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService } from '../../../../test/rig/service.ts'
import { createPersonRows } from '../../src/declare/resources/person-rows.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { readRows } from '../../src/operate/erasure/person-export.ts'
import { fill, run } from '../lists/rows.ts'
import { ACCESS } from '../storage/team-database.ts'

const declared = { list: { filter: [], sort: ['id'] }, access: ACCESS, events: [] } as const
const OFFICE = service({
  name: 'Office',
  versions: { v1: { released: '2026-01-01' } },
  resources: [
    resource('people', {
      fields: { id: f.id(), email: f.email().unique() },
      ...declared,
    }).signsIn({ username: 'email', scopes: ['notes:read'] }),
    resource('folders', {
      fields: { id: f.id(), person_id: f.ref('people').owner() },
      ...declared,
    }),
    resource('papers', {
      fields: { id: f.id(), folder_id: f.ref('folders') },
      ...declared,
      softDelete: true,
    }).ownedBy('folder_id'),
  ],
})
const { resources } = OFFICE.definition

/** More than a page of rows: folder 1 has the first ones, folder 2 the others. */
const ROWS = 600
const MOVES: Readonly<Record<string, readonly [before: string, during: string]>> = {
  'to a parent that was read': [
    'UPDATE papers SET deleted_at = NULL',
    'UPDATE papers SET folder_id = 1 WHERE id > 590',
  ],
  'out of the deleted rows': [
    'UPDATE papers SET deleted_at = CASE WHEN id > 590 THEN id END',
    'UPDATE papers SET deleted_at = NULL',
  ],
  'into the deleted rows': [
    'UPDATE papers SET deleted_at = NULL',
    'UPDATE papers SET deleted_at = 5 WHERE id < 20',
  ],
}

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`an export has rows that move meanwhile once [${kind}]`, async (t) => {
    const { app } = await openService(t, kind, { service: OFFICE })
    const { db } = app
    const email = "'p' || n || '@x.io'"
    const scope = await fill(db, 'people', 1, { email, gh_folded_email: email })
    await fill(db, 'folders', 2, { person_id: '1' })
    await fill(db, 'papers', ROWS, { folder_id: '1' })
    const papers = resources.find(({ name }) => name === 'papers')!
    const list = createPersonRows(papers, resources)
    for (const [name, [before, during]] of Object.entries(MOVES)) {
      await run(db, 'UPDATE papers SET folder_id = CASE WHEN id <= 300 THEN 1 ELSE 2 END')
      await run(db, before)
      let isMoved = false
      const ids: unknown[] = []
      const read = async (_: unknown, __: unknown, id: string | number) => ({ id })
      const rows = { table: 'papers', list, read }
      for await (const text of readRows(db, rows, { scope, id: 1 })) {
        for (const line of text.split('\n').filter(Boolean)) ids.push(JSON.parse(line).row.id)
        if (!isMoved && ids.length > 300) {
          await run(db, during)
          isMoved = true
        }
      }
      assert.ok(isMoved, name)
      assert.deepEqual([ids.length, new Set(ids).size], [ROWS, ROWS], name)
    }
  })
}
