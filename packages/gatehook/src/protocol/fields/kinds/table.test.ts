/**
 * Every kind of the table: JSON, row, cell, filter and schema agree on a value. A new kind is
 * tested without a line here.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import { kinds } from '../../../../test/fixtures/every-kind.ts'
import { boundaryValues } from '../../../declare/resources/boundary-values.ts'
import { sampleValue } from '../../../declare/resources/sample.ts'
import { cellWriter, listColumn } from '../../../declare/resources/table.ts'
import { cellOf } from '../../lists/encode.ts'
import { formOf, toJson } from '../forms.ts'
import { parseNumber } from '../json-number.ts'
import { createObjectReader } from '../reader.ts'
import { valueSchema } from '../schema.ts'
import type { MemberSpec } from '../spec.ts'
import { fieldKindOf } from './table.ts'

const id: MemberSpec = { kind: 'id', write: 'required', nullable: false }
const specs: readonly MemberSpec[] = [
  id,
  { ...id, idPrefix: 'bk' },
  ...Object.values(kinds).map(({ spec: { default: _fallback, ...spec } }) => spec),
]

/** The formats are those of the reader, which `reader.test.ts` compares with a library. */
const ajv = new Ajv({ strict: false, validateFormats: false })

const instants = fc.integer({ min: 0, max: 4_000_000_000_000 })
const anySpec = fc.constantFrom(...specs)
const valuesOf = (spec: MemberSpec, at: number): readonly unknown[] => [
  sampleValue('name', spec, at),
  ...boundaryValues(spec),
]

const readerOf = (spec: MemberSpec) => {
  const read = createObjectReader({ members: { it: spec } })
  return (it: unknown) => {
    const { values, errors } = read({ it })
    return errors.length === 0 ? { row: values.it } : undefined
  }
}

test('JSON, row, cell, response and schema have the same value', () => {
  const property = fc.property(anySpec, instants, (spec, at) => {
    const isValid = ajv.compile(valueSchema(spec))
    const column = cellOf(listColumn('it', spec))
    for (const value of valuesOf(spec, at)) {
      const label = `${spec.kind} ${JSON.stringify(value)}`
      const json = toJson(spec, value)
      assert.deepEqual(readerOf(spec)(json), { row: value }, label)
      assert.ok(isValid(json), label)
      const cell = cellWriter(spec)(value)
      const { cell: form } = formOf(spec)
      assert.deepEqual(form ? form.from(cell) : cell, value, label)
      assert.deepEqual(JSON.parse(column.encode(cell)), json, label)
    }
  })
  fc.assert(property, { numRuns: 200 })
})

const PREFIX_MAX = 40

/** The texts of every kind, in capitals, and their beginnings. */
const texts = new Set(
  specs
    .flatMap((spec) => valuesOf(spec, 0).map((value) => toJson(spec, value)))
    .filter((json) => typeof json !== 'object')
    .flatMap((json) => [String(json), String(json).toUpperCase()])
    .flatMap((text) => [
      text,
      ...Array.from({ length: Math.min(text.length, PREFIX_MAX) }, (_, end) => text.slice(0, end)),
    ]),
)

test('a filter by a text that a body accepts selects the cell of the body', () => {
  for (const spec of specs) {
    const { json } = fieldKindOf(spec)
    if (json === 'any') continue
    const isText = json === 'string' || spec.idPrefix !== undefined
    const [read, write] = [readerOf(spec), cellWriter(spec)]
    const { parse, between } = cellOf(listColumn('it', spec))
    for (const text of texts) {
      const body = isText ? text : jsonOf(text)
      const accepted = body === undefined ? undefined : read(body)
      if (accepted === undefined || between?.has(text)) continue
      assert.equal(parse(text), write(accepted.row), `${spec.kind} ${text}`)
    }
  }
})

/** Bodies write negative zero as zero. */
const jsonOf = (value: string): unknown =>
  /^(true|false)$/.test(value) ? value === 'true' : parseNumber(value)

test('a parameter of a query has the value of a body', () => {
  for (const spec of specs) {
    const { fromQuery, json: jsonType } = fieldKindOf(spec)
    if (jsonType === 'any') continue
    for (const json of valuesOf(spec, 0).map((value) => toJson(spec, value))) {
      if (json === null) continue
      const text = String(json)
      assert.equal(fromQuery ? fromQuery(text) : text, json, `${spec.kind} ${text}`)
    }
  }
})
