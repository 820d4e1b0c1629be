/** `f.uuid()`: a UUID, stored in lower case. */
import { declareField, type Field } from '../fields.ts'
import type { FieldKind } from '../kind.ts'
import { createReader, textFinder } from '../reading.ts'
import { formCell } from './cells.ts'
import { textKind } from './text-kind.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const isUuid = (text: string): boolean => UUID.test(text)
const normalize = (text: string): string => text.toLowerCase()
const WORDS = 'a UUID'
const cell = formCell(WORDS, isUuid, normalize)

export const uuidCall = {
  /** A UUID (RFC 9562) in lower case. */
  uuid: (): Field<string, 'required'> => declareField('uuid'),
}

export const uuid: FieldKind = {
  ...textKind,
  reader: (spec) => createReader(textFinder(spec, WORDS, isUuid), normalize),
  schema: () => ({ type: 'string', format: 'uuid' }),
  cell: () => cell,
  isUnordered: true,
  sample: () => '018f6f3e-8c1a-7b52-9d3e-2f5a6c7d8e9f',
  bounds: () => ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
  words: () => 'A UUID.',
  format: ['uuid', 'UUID'],
  input: { filter: { isList: true } },
}
