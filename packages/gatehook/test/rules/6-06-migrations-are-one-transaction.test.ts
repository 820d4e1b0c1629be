/** §6.6: all pending migrations are applied in one transaction, which none of them ends. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DeclarationError, f, resource, service } from '../../src/gatehook.ts'

const access = { read: 'a:read', create: 'a:write', update: 'a:write', delete: 'a:write' }
const cars = resource('cars', {
  fields: { id: f.id(), name: f.string().max(40) },
  list: { filter: [], sort: ['id'] },
  access,
  events: [],
})
const declare = (sql: string | { sqlite: string; postgres: string }) =>
  service({
    name: 'Cars',
    versions: { v1: { released: '2026-01-01' } },
    resources: [cars],
    migrations: [{ number: 1, name: 'a change', sql }],
  })

function assertMistake(sql: Parameters<typeof declare>[0], sentence: RegExp): void {
  assert.throws(
    () => declare(sql),
    (error) => error instanceof DeclarationError && sentence.test(error.message),
  )
}

const ENDING = [
  'CREATE TABLE t1 (a {int}); COMMIT',
  'CREATE TABLE t1 (a {int});\n -- why\n commit; begin',
  'ROLLBACK',
  'END',
  'SAVEPOINT a; RELEASE a',
  '/* a */ Start Transaction',
  "PREPARE TRANSACTION 'a'",
  'ABORT',
]

for (const sql of ENDING) {
  test(`a migration with ${JSON.stringify(sql)} is a mistake of the declaration`, () => {
    for (const form of [sql, { sqlite: 'SELECT 1', postgres: sql }]) {
      assertMistake(form, /migration 1: [A-Z ]+ is not possible: all pending migrations are/)
    }
  })
}

test('a word in braces that is no type is a mistake of the declaration', () => {
  const sentence = /migration 1: \{blob\} is no type; use \{int\}, \{real\}, \{text\} or \{bytes\}/
  assertMistake('CREATE TABLE t1 (a {blob})', sentence)
})

test('these words in texts, names and bodies of triggers are no statements', () => {
  declare(`CREATE TABLE t1 (a {int}, b {real}, c {text}, "commit" {bytes});
    INSERT INTO t1 (c) VALUES ('x; COMMIT; y'); -- ; ROLLBACK
    CREATE TRIGGER t1_a AFTER INSERT ON t1 BEGIN DELETE FROM t1; UPDATE t1 SET a = 1; END;
    UPDATE t1 SET c = $$; END $$`)
})
