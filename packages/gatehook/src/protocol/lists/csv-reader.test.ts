import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { csvRow, encodeCsvCell } from './csv.ts'
import { readCsv, unescapeFormulas } from './csv-reader.ts'
import { RecordError } from './line-reader.ts'

const file = new URL('../../../../../spec/vectors/csv-cells.json', import.meta.url)
const vectors = JSON.parse(readFileSync(file, 'utf8')) as {
  texts: { text: string; cell: string }[]
  json: { value: unknown; cell: string }[]
}
const rowOf = (values: readonly unknown[]) => csvRow(values.map((value) => encodeCsvCell(value)))

/** Any text, and texts of the characters that matter. */
const texts = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: fc.constantFrom(...'=+-@＝－,;\t\r\n\'" ab'), maxLength: 8 }),
)

async function* partsOf(text: string, size: number) {
  const characters = [...text]
  for (let at = 0; at < characters.length; at += size)
    yield characters.slice(at, at + size).join('')
}

const recordsOf = (text: string, size = 3) => Array.fromAsync(readCsv(partsOf(text, size)))

test('every text that an export writes is read as it was, wherever the parts end', async () => {
  const row = fc.array(texts, { minLength: 1, maxLength: 4 })
  const property = fc.asyncProperty(
    fc.array(row),
    fc.integer({ min: 1, max: 9 }),
    async (rows, n) => {
      const records = await recordsOf(rows.map(rowOf).join(''), n)
      const texts = records.map(({ cells }) => cells.map(({ text }) => unescapeFormulas(text)))
      assert.deepEqual(texts, rows)
    },
  )
  await fc.assert(property, { numRuns: 200, seed: 20 })
})

test('the cells of the vectors have one text each, which is read as the value', async () => {
  for (const { text, cell } of vectors.texts) {
    assert.equal(encodeCsvCell(text), cell)
    const [record] = await recordsOf(`${cell}\n`)
    assert.equal(unescapeFormulas(record!.cells[0]!.text), text)
  }
  for (const { value, cell } of vectors.json) {
    assert.equal(encodeCsvCell(value, true), cell)
    const [record] = await recordsOf(`${cell}\n`)
    assert.deepEqual(JSON.parse(record!.cells[0]!.text), value)
  }
})

/** Returns the cells that a spreadsheet reads which ignores quotes inside a line. */
const looseCells = (row: string, separator: string) => row.split(new RegExp(`[${separator}\r\n]`))
/** Also behind quotes that it removes. */
const RUN = /^["\s]*[=+\-@＝＋－＠]/

test('no text runs as a formula, whatever separates the cells and wherever it is', () => {
  const json = texts.map((text) => encodeCsvCell({ [text]: [text] }, true))
  const cells = fc.array(
    fc.oneof(
      texts.map((text) => encodeCsvCell(text)),
      json,
    ),
  )
  const property = fc.property(cells, (others) => {
    const row = csvRow(['1', ...others])
    for (const separator of [';', '\t']) {
      for (const cell of looseCells(row, separator)) assert.doesNotMatch(cell, RUN)
    }
    // The commas of a text are in quotes, which begin its cell.
    for (const cell of others) assert.doesNotMatch(cell, RUN)
  })
  fc.assert(property, { numRuns: 2_000, seed: 8 })
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
      (error) => error instanceof RecordError && error.line === line,
    )
  }
})
