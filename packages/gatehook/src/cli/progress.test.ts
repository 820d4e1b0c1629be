import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { progressLine } from './progress.ts'

test('a line has the rows so far, of all rows where the step counts them', () => {
  const copy = { step: 'copy', fraction: 0.5, rows: 2_400_000 }
  assert.equal(
    progressLine(copy, 2),
    'copy: 1,200,000 of 2,400,000 rows (50 %), 600,000 rows/s, 2 s left',
  )
  const whole = { ...copy, fraction: 1 }
  assert.equal(progressLine(whole, 4), 'copy: 2,400,000 of 2,400,000 rows (100 %), 600,000 rows/s')
  const rows = { step: 'import', fraction: 0.125, done: 200 }
  assert.equal(progressLine(rows, 1), 'import: 200 rows (12 %), 200 rows/s, 7 s left')
})

test('no line claims another number of rows than the report', () => {
  const fraction = fc.double({ min: 0, max: 1, noNaN: true })
  const reports = fc.record({ fraction, done: fc.nat(), elapsedS: fc.nat(100) })
  fc.assert(
    fc.property(reports, ({ elapsedS, ...report }) => {
      const line = progressLine({ step: 'import', ...report }, elapsedS)
      const [count = ''] = /[\d,]+/.exec(line) ?? []
      assert.equal(Number(count.replaceAll(',', '')), report.done, line)
      assert.doesNotMatch(line, /NaN|Infinity/)
    }),
  )
})
