import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatLogPosition, parseLogPosition } from './log-position.ts'

test('positions compare as numbers and have one text', () => {
  assert.ok(parseLogPosition('A/0')! > parseLogPosition('9/FFFFFFFF')!)
  for (const text of ['0/0', '16/B374D848', 'FFFFFFFF/FFFFFFFF']) {
    assert.equal(formatLogPosition(parseLogPosition(text)!), text)
  }
  for (const text of ['', '1', '1/', '/1', '1/123456789', '1/G', ' 1/1', '1/1\n']) {
    assert.equal(parseLogPosition(text), undefined, JSON.stringify(text))
  }
})
