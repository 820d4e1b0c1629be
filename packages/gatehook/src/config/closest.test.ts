/** Near misses are recognised, other words are left alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closest } from './closest.ts'

const known = ['PORT', 'HOST', 'TRUST_PROXY', 'WEBHOOK_TIMEOUT_MS', 'RATE_LIMIT']

const rows: [typed: string, meant: string | undefined][] = [
  ['PROT', 'PORT'],
  ['PORTS', 'PORT'],
  ['host', 'HOST'],
  ['TRUSTED_PROXY', 'TRUST_PROXY'],
  ['WEBHOOK_TIMEOUT', 'WEBHOOK_TIMEOUT_MS'],
  ['FOO', undefined],
  ['API_KEY', undefined],
  ['SERVICE_HOST', undefined],
  ['', undefined],
]

for (const [typed, meant] of rows) {
  test(`${typed || '(nothing)'} means ${meant ?? 'none of them'}`, () => {
    assert.equal(closest(typed, known), meant)
  })
}
