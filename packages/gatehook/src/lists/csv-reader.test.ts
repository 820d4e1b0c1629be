import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodeCsvRow } from './csv.ts'
import { CsvError, readCsv, unescapeFormula } from './csv-reader.ts'

async function* partsOf(text: string, size: number) {
  const characters = [...text]
  for (let at = 0; at < characters.length; at += size)
    yield characters.slice(at, at + size).join('')
}

const recordsOf = (text: string, size = 3) => Array.fromAsync(readCsv(partsOf(text, size)))

test('every text that an export writes is read as it was, wherever the parts end', async () => {
  const row = fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 4 })
  const property = fc.asyncProperty(
    fc.array(row),
    fc.integer({ min: 1, max: 9 }),
    async (rows, n) => {
      const records = await recordsOf(rows.map(encodeCsvRow).join(''), n)
      const texts = records.map(({ cells }) => cells.map(({ text }) => unescapeFormula(text)))
      assert.deepEqual(texts, rows)
    },
  )
  await fc.assert(property, { numRuns: 200, seed: 20 })
})

test('a text that a spreadsheet would run gets an apostrophe, which reading removes', async () => {
  for (const start of ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠', "'＝"]) {
    const text = `${start}1+1`
    const [record] = await recordsOf(encodeCsvRow([text]))
    assert.equal(record?.cells[0]?.text, `'${text}`)
    assert.equal(unescapeFormula(`'${text}`), text)
  }
})

test('records have their first line, and empty cells differ from empty texts', async () => {
  assert.deepEqual(await recordsOf('a,"b\n""c"""\r\n\r\n,""\nlast'), [
    {
      line: 1,
      cells: [
        { text: 'a', isQuoted: false },
        { text: 'b\n"c"', isQuoted: true },
      ],
    },
    {
      line: 4,
      cells: [
        { text: '', isQuoted: false },
        { text: '', isQuoted: true },
      ],
    },
    { line: 5, cells: [{ text: 'last', isQuoted: false }] },
  ])
})

test('a quote that is not closed and text after a quote name their line', async () => {
  for (const [text, line] of [
    ['a\n"b', 2],
    ['a\n"b"c', 2],
  ] as const) {
    await assert.rejects(
      recordsOf(text),
      (error) => error instanceof CsvError && error.line === line,
    )
  }
})
