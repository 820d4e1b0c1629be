import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assert as check, property, string } from 'fast-check'
import { classifyLock, splitStatements } from './sql-statements.ts'

test('semicolons in quotes, comments and dollar quotes end no statement', () => {
  const text = `-- a; comment
    UPDATE a SET b = 'x;''y' ; /* ; */ CREATE FUNCTION f() AS $body$ SELECT 1; $body$;;
    ALTER TABLE "odd;name"
      ADD COLUMN c INT`
  assert.deepEqual(splitStatements(text), [
    "UPDATE a SET b = 'x;''y'",
    'CREATE FUNCTION f() AS $body$ SELECT 1; $body$',
    'ALTER TABLE "odd;name" ADD COLUMN c INT',
  ])
})

test('every text is split without an error', () => {
  check(property(string({ maxLength: 200 }), (text) => splitStatements(text).every(Boolean)))
})

const locks = {
  'CREATE INDEX CONCURRENTLY a ON b (c)': ['SHARE UPDATE EXCLUSIVE', 'nothing'],
  'CREATE UNIQUE INDEX a ON b (c)': ['SHARE', 'writes'],
  'CREATE TABLE a (b INT, FOREIGN KEY (b) REFERENCES c (d))': ['SHARE ROW EXCLUSIVE', 'writes'],
  'CREATE TABLE a (b INT)': [null, 'nothing'],
  'UPDATE a SET b = 1': ['ROW EXCLUSIVE', 'changed rows'],
  'ALTER TABLE a ADD COLUMN b INT': ['ACCESS EXCLUSIVE', 'reads and writes'],
  'VACUUM FULL a': ['ACCESS EXCLUSIVE', 'reads and writes'],
} as const

test('a statement has the lock that PostgreSQL documents; an unknown one, the strongest', () => {
  for (const [statement, expected] of Object.entries(locks)) {
    const { lock, blocks } = classifyLock('postgres', statement)
    assert.deepEqual([lock, blocks], expected, statement)
  }
})
