/**
 * §18.11, §11.5: the pages of a person's rows, for an erasure or an export, pass no rows of other
 * persons, also where rows belong to the person through others. The tests count the passed rows of
 * each statement; they measure no time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService } from '../../../../test/rig/service.ts'
import { createPersonRows, type PersonRow } from '../../src/declare/resources/person-rows.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { ACCESS } from '../storage/team-database.ts'
import { countPassedRows } from './passed-rows.ts'
import { fill, run } from './rows.ts'

const OTHERS = 2_000
const LIMIT = 7
/** Rows of one page of each resource on the way, and the person's own ones. */
const PASSED_MAX = 40

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
      softDelete: true,
    }),
    resource('papers', {
      fields: { id: f.id('pap'), folder_id: f.ref('folders') },
      ...declared,
      softDelete: true,
    }).ownedBy('folder_id'),
    resource('sheets', {
      fields: { id: f.id(), paper_id: f.ref('papers', 'pap') },
      ...declared,
    }).ownedBy('paper_id'),
  ],
})
const { resources } = OFFICE.definition
const rowsOf = (name: string) =>
  createPersonRows(resources.find((definition) => definition.name === name)!, resources)

/** Person 1 has the rows before `OTHERS`, of which each third is deleted; person 2 the others. */
const OWN = 20
const HALF = `CASE WHEN n % 3 = 0 THEN n END`

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`pages of a person have each of its rows once, and pass no others [${kind}]`, async (t) => {
    const own = await openService(t, kind, { service: OFFICE })
    const { db } = own.app
    const text = (n: string) => `'pap_' || (100000 + ${n})`
    const scope = await fill(db, 'people', 2, {
      ...{ email: "'p' || n || '@x.io'", gh_folded_email: "'p' || n || '@x.io'" },
    })
    await fill(db, 'folders', OTHERS + OWN, {
      person_id: `CASE WHEN n % 101 = 0 THEN 1 ELSE 2 END`,
      deleted_at: HALF,
    })
    const rows = { folder_id: 'n', deleted_at: HALF }
    await fill(db, 'papers', OTHERS + OWN, { id: text('n'), ...rows })
    // The first folder of the person has most of its papers.
    await run(db, `UPDATE papers SET folder_id = 101 WHERE folder_id = 102 OR folder_id < 20`)
    await fill(db, 'sheets', OTHERS + OWN, { paper_id: text('n') })
    if (kind === 'postgres') {
      await db.migrate(async (_, ddl) => {
        for (const { name } of resources) await ddl(`ANALYZE ${name}`)
      })
    }
    const passed = countPassedRows(t, own)
    const person = { scope, id: 1 }
    for (const [name, count] of [
      ['people', 1],
      ['folders', OWN],
      ['papers', OWN + 20],
      ['sheets', OWN + 20],
    ] as const) {
      const list = rowsOf(name)
      const ids: PersonRow['id'][] = []
      for (let after: PersonRow['place'] | undefined; ; ) {
        const page = await list(passed.source, person, after, LIMIT)
        const { rows, statement } = passed.take()
        assert.ok(rows <= PASSED_MAX, `${name}: ${rows} rows: ${statement}`)
        ids.push(...page.rows.map(({ id }) => id))
        if (!page.next) break
        after = page.next
      }
      assert.equal(ids.length, count, name)
      assert.equal(new Set(ids).size, count, name)
    }
    const list = rowsOf('papers')
    const page = await list(passed.source, person, undefined, LIMIT)
    await run(db, 'UPDATE folders SET person_id = 2 WHERE id = 101')
    const rest = await list(passed.source, person, page.next, 1_000)
    assert.equal(rest.rows.length, OWN - 1, 'papers of a folder that another person has now')
  })
}
