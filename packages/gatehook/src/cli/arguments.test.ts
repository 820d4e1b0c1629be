/** Spans of time as arguments. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseDuration } from './arguments.ts'

const rows: [text: string, seconds: number | undefined][] = [
  ['90s', 90],
  ['30d', 2_592_000],
  ['1h30m', 5400],
  ['2w', 1_209_600],
  ['0s', 0],
  ['30', undefined],
  ['d', undefined],
  ['-1d', undefined],
  ['1.5h', undefined],
  ['1d ', undefined],
  ['', undefined],
]

for (const [text, seconds] of rows) {
  test(`"${text}" is ${seconds === undefined ? 'no span' : `${seconds} s`}`, () => {
    assert.equal(parseDuration(text), seconds)
  })
}
