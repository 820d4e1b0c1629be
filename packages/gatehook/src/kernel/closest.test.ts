import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closestSentence, findClosest } from './closest.ts'

const candidates = ['Q', 'PORT', 'HOST', 'TRUST_PROXY', 'WEBHOOK_TIMEOUT_MS', 'RATE_LIMIT']

const rows: [typed: string, meant: string | undefined][] = [
  ['PROT', 'PORT'],
  ['PORTS', 'PORT'],
  ['host', 'HOST'],
  ['TRUSTED_PROXY', 'TRUST_PROXY'],
  ['WEBHOOK_TIMEOUT', 'WEBHOOK_TIMEOUT_MS'],
  ['FOO', undefined],
  ['x', undefined],
  ['q', 'Q'],
  ['API_KEY', undefined],
  ['SERVICE_HOST', undefined],
  ['', undefined],
]

test('a set without a word has a sentence of its own', () => {
  assert.equal(closestSentence('owner', []), 'There are none.')
  assert.equal(closestSentence('owner', ['lender']), 'There are: lender.')
})

for (const [typed, meant] of rows) {
  test(`${typed || '(nothing)'} is closest to ${meant ?? 'no candidate'}`, () => {
    assert.equal(findClosest(typed, candidates), meant)
  })
}
