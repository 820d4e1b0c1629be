/**
 * §7.12, §6.22: the words of deleted rows are apart from those of others, so that `q` finds either
 * and passes none of the others. A restoration, a change and a start with new words keep them so.
 */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { fillSearchIndexes, resetSearchIndexes } from '../../src/declare/resources/search-fill.ts'
import { DELETED_WORD } from '../../src/declare/resources/soft-deletion.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { ACCESS, HEAD } from '../storage/team-database.ts'
import { all, idsOf, ok, styles } from './rows.ts'

const NOTES = service({
  ...HEAD,
  resources: [
    resource('notes', {
      fields: {
        id: f.id(),
        text: f.string(),
        note_ids: f.array(f.ref('notes'), { max: 3 }).default([]),
      },
      list: { filter: [], sort: ['id'] },
      access: ACCESS,
      events: [],
      search: ['text'],
      softDelete: true,
    }),
  ],
})
const { resources } = NOTES.definition
const PATH = '/api/v1/notes'

eachService(
  'q finds deleted rows among deleted ones, and others among others',
  async ({ app: { db }, get, post, patch, delete: remove }) => {
    for (const text of ['Ann Lee', 'Anna', 'Bob']) {
      assert.equal((await post(PATH, { text })).status, 201)
    }
    assert.equal((await patch(`${PATH}/2`, { note_ids: [3] })).status, 200)
    const search = async (query: string) => {
      for (const style of styles) {
        const { body } = await ok(get(`${PATH}?${query}&pagination=${style}`))
        const total = body.total ?? body.meta?.total
        if (total !== undefined) assert.equal(total, body.data.length, query)
      }
      return idsOf(await ok(get(`${PATH}?${query}`)))
    }
    const words = async () => {
      const rows = await all(db, 'SELECT id, word FROM gh_words_notes ORDER BY id, word')
      return rows.map(({ id, word }) => `${id} ${word}`)
    }
    const before = await words()
    for (const id of [1, 2]) assert.equal((await remove(`${PATH}/${id}`)).status, 204)
    assert.deepEqual(await search('q=an'), [])
    assert.deepEqual(await search('q=-an'), [], 'the mark is no part of a requested word')
    assert.deepEqual(await search('q=an&deleted=true'), [1, 2])
    assert.deepEqual(await search('q=ann+lee&deleted=true'), [1])
    assert.deepEqual(await search('q=bob&deleted=true'), [])
    assert.deepEqual(await search('q=note_ids&deleted=true'), [])
    assert.deepEqual(await search('q=bob'), [3])
    const deleted = await words()
    const ofDeleted = deleted.filter((entry) => !entry.startsWith('3'))
    assert.deepEqual(
      ofDeleted.map((entry) => entry[2]),
      [DELETED_WORD, DELETED_WORD, DELETED_WORD, '~'],
    )
    await resetSearchIndexes(db, ['notes'])
    await fillSearchIndexes(db, resources, () => {})
    assert.deepEqual(await words(), deleted, 'a start has the same words')
    for (const id of [1, 2]) assert.equal((await post(`${PATH}/${id}/restore`)).status, 200)
    assert.deepEqual(await words(), before)
    assert.deepEqual(await search('q=an'), [1, 2])
    assert.deepEqual(await search('q=an&deleted=true'), [])
  },
  { service: NOTES },
)
