/** A clause after a statement of own code: its comment or `;` does not hide the clause. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textWith } from './postgres-send.ts'

test('a clause follows the text, without a final semicolon and after a comment of a line', () => {
  const cases: [text: string, suffix: string | undefined, expected: string][] = [
    ['SELECT 1', undefined, 'SELECT 1'],
    ['SELECT 1;', undefined, 'SELECT 1;'],
    ['SELECT 1', ' FOR UPDATE', 'SELECT 1 FOR UPDATE'],
    ['SELECT 1 ;\n', ' FOR UPDATE', 'SELECT 1  FOR UPDATE'],
    ['SELECT 1 -- one', ' FOR UPDATE', 'SELECT 1 -- one\n FOR UPDATE'],
    ['SELECT 1 -- one;', ' FOR UPDATE', 'SELECT 1 -- one\n FOR UPDATE'],
  ]
  for (const [text, suffix, expected] of cases) {
    assert.equal(textWith({ sql: text, text, values: [] }, suffix), expected)
  }
})
