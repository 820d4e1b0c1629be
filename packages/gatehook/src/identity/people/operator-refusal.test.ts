/** §16.10: sessions of operators end by what their provider says of them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isRefusal } from './operator-provider.ts'

const CASES: readonly (readonly [
  status: number | undefined,
  error: string | undefined,
  boolean,
])[] = [
  [400, 'invalid_grant', true],
  [401, undefined, true],
  [403, undefined, true],
  [401, 'invalid_client', false],
  [408, undefined, false],
  [429, undefined, false],
  [503, undefined, false],
  [undefined, undefined, false],
]

test('a response refuses an operator unless it is about the client, or about too many', () => {
  for (const [status, error, expected] of CASES) {
    assert.equal(isRefusal({ status, error }), expected, `${status} ${error}`)
  }
})
