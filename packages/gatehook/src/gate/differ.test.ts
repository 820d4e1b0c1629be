/** The differ on a real document, changed in every way it should have a word for. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { callMutations } from '../../test/gate/call-mutations.ts'
import type { Edit } from '../../test/gate/mutation.ts'
import { schemaMutations } from '../../test/gate/schema-mutations.ts'
import { diffDocuments } from './differ.ts'

type Json = Record<string, unknown>

const mutations = [...callMutations, ...schemaMutations]

const real = readFileSync(new URL('../../../../spec/openapi/v2.json', import.meta.url), 'utf8')

/** The document after some edits; one that meets nothing to change is a mistake of the table. */
function edited(document: Json, edits: readonly Edit[]): Json {
  const copy = structuredClone(document)
  for (const edit of edits) {
    const parts = edit[0]
      .slice(1)
      .split('/')
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    const last = parts.pop()!
    const holder = parts.reduce((at, part) => at?.[part] as Json, copy)
    assert.ok(holder, `${edit[0]} leads nowhere`)
    if (edit.length === 2) holder[last] = edit[1]
    else {
      assert.ok(last in holder, `${edit[0]} is not there`)
      if (Array.isArray(holder)) holder.splice(Number(last), 1)
      else delete holder[last]
    }
  }
  return copy
}

test('a document is like itself', () => {
  assert.deepEqual(diffDocuments(JSON.parse(real), JSON.parse(real)), [])
})

test(`${mutations.length} changes of a document have the right verdict each`, async (t) => {
  assert.ok(mutations.length >= 60)
  assert.equal(new Set(mutations.map(({ name }) => name)).size, mutations.length)
  for (const { name, first = [], edit, verdict, says } of mutations) {
    await t.test(name, () => {
      const old = edited(JSON.parse(real), first)
      const told = diffDocuments(old, edited(old, edit))
      const sentences = told.map((one) => one.sentence).join('\n')
      const found = told.length === 0 ? 'same' : told[0]!.breaking ? 'break' : 'addition'
      assert.equal(found, verdict, sentences)
      if (says !== undefined) assert.ok(sentences.includes(says), sentences)
      for (const one of told) {
        assert.match(one.sentence, /^[A-Z"].*\.$/s)
        assert.match(one.where, /^#\//)
        assert.ok(one.operations.length > 0)
      }
    })
  }
})

test('what a component has is told once, with all that show it', () => {
  const old = JSON.parse(real)
  const told = diffDocuments(old, edited(old, [['/components/schemas/User/properties/name']]))
  assert.equal(told.length, 1)
  assert.deepEqual(told[0], {
    breaking: true,
    where: '#/components/schemas/User/properties/name',
    sentence: '"name" of User is gone from answers: callers that read it find nothing.',
    operations: [
      'GET /api/v2/users',
      'POST /api/v2/users',
      'GET /api/v2/users/{id}',
      'PATCH /api/v2/users/{id}',
    ],
  })
})
