import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startCounting } from '../../test/http/steps.ts'
import type { ImportLine } from './import-rows.ts'

const { count, stop } = startCounting(['/packages/gatehook/src/'])
after(stop)

// Only now: code that is compiled before counting began has no counters.
const load = (path: string) => import(new URL(path, import.meta.url).href)
const { readImportLines } = (await load('./import-rows.ts')) as typeof import('./import-rows.ts')
const { f, resource } = (await load('../gatehook.ts')) as typeof import('../gatehook.ts')

const { definition } = resource('notes', {
  fields: { id: f.id(), text: f.string() },
  list: { filter: [], sort: [] },
  access: { read: 'n:read', create: 'n:write', update: 'n:write', delete: 'n:write' },
  events: [],
})

async function* partsOf(text: string, size: number) {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size)
}

const read = (text: string, isCsv: boolean, size = 1024) =>
  Array.fromAsync(
    readImportLines(partsOf(text, size), definition, isCsv),
    ({ characters: _, ...line }): ImportLine => line,
  )

test('a record beyond the bound ends the import, in each format', async () => {
  const long = 'x'.repeat(4_194_304 + 1)
  for (const [isCsv, head, body] of [
    [false, '{"text":"a"}\n', { text: 'a' }],
    [true, 'text\na\n', { text: 'a' }],
  ] as const) {
    const line = isCsv ? 2 : 1
    assert.deepEqual(await read(`${head}${long}\n${head}`, isCsv, 65_536), [
      { line, body },
      { line: line + 1, problem: 'the record is longer than 4 MiB' },
    ])
  }
})

test('lines are the same wherever the parts end', async () => {
  const text = '{"text":"a"}\n\n{"text":"b"}\n[]\n{"text":"c"}'
  const lines = [
    { line: 1, body: { text: 'a' } },
    { line: 3, body: { text: 'b' } },
    { line: 4, problem: 'is not an object' },
    { line: 5, body: { text: 'c' } },
  ]
  for (let size = 1; size <= text.length; size++) {
    assert.deepEqual(await read(text, false, size), lines)
    assert.deepEqual(await read(`${text}\n`, false, size), lines)
  }
})

const files: Readonly<Record<string, (length: number) => [text: string, isCsv: boolean]>> = {
  'NDJSON without a line feed': (length) => ['x'.repeat(length), false],
  'NDJSON of short lines': (length) => ['{}\n'.repeat(length / 3), false],
  'CSV without a line feed': (length) => ['x'.repeat(length), true],
  'CSV with an open quote': (length) => [`text\n"${'x'.repeat(length)}`, true],
  'CSV with many names': (length) => [
    Array.from({ length: length / 8 }, (_, at) => `a${at}`).join(','),
    true,
  ],
}

for (const [name, fileOf] of Object.entries(files)) {
  test(`${name} is read in a linear number of steps`, async () => {
    // Parts are small, so that work for each part on the whole line would be seen.
    const steps = (length: number) => count(() => read(...fileOf(length), 64))
    await steps(1024)
    const [half, whole] = [await steps(16_384), await steps(32_768)]
    assert.ok(whole <= 3 * half, `${whole} steps, ${half} for half the text`)
  })
}
