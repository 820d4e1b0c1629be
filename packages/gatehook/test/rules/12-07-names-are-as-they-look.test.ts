/**
 * §12.7: a name that people read on pages and in lists has no character that reorders the text
 * around it or has no width. The test finds such members in the bodies of every operation.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { api } from '../../service/service.ts'
import { catalogOf } from '../../src/cli/openapi.ts'
import { engineOperations } from '../../src/documents.ts'
import { readMembers } from '../../src/protocol/fields/body.ts'
import { b } from '../../src/protocol/fields/members.ts'

/** Their members are fields, which the service declares. */
const OF_FIELDS = ['sign_up', 'create_person']
/** Members that people read. */
const READ_BY_PEOPLE = ['name', 'description', 'subject']
const DECEPTIVE = [
  ...['\u202a', '\u202b', '\u202c', '\u202d', '\u202e', '\u2066', '\u2067', '\u2068', '\u2069'],
  ...['\u200b', '\u200e', '\u200f', '\u2060', '\ufeff', '\u061c'],
  ...['\u2028', '\u2029', '\u0000', '\n', '\u007f', '\u0085', '\ud800'],
]
const NAMES = ['Acme GmbH', 'שלום', 'محمد', 'می‌خواهم', 'क्‍ष', '日本', '👩‍👧', "O'Neil & Co. <b>"]

test('a line has no deceptive character, and every script', () => {
  const read = (name: string) => readMembers({ name }, { name: b.line(20) })
  for (const name of NAMES) assert.deepEqual(read(name), { name })
  for (const character of DECEPTIVE) {
    for (const name of [character, `a${character}`, `${character}a`, `a${character}b`]) {
      assert.throws(
        () => read(name),
        /name: must be one line of valid Unicode without control or invisible/,
        JSON.stringify(name),
      )
    }
  }
})

test('each text that an operation accepts and people read is a line', () => {
  const members = engineOperations(catalogOf(api.definition)).flatMap(({ id, input = {} }) =>
    Object.entries(input)
      .filter(([name]) => READ_BY_PEOPLE.includes(name) && !OF_FIELDS.includes(id))
      .map(([name, { spec }]) => `${id} ${name}: ${spec.kind}`),
  )
  assert.ok(members.length >= 8, members.join(', '))
  assert.deepEqual(
    members.filter((text) => !text.endsWith(': line')),
    [],
  )
})
