/** The common parts of ids and references: integers, or with a prefix texts. */
import {
  idWords,
  isPrefixedId,
  lowestRowId,
  rowIdPattern,
  sampleRowId,
} from '../../../kernel/row-id.ts'
import { integerSchema, type JsonSchema } from '../json-schema.ts'
import type { FieldKind } from '../kind.ts'
import { createReader, integerFinder, textFinder } from '../reading.ts'
import type { MemberSpec } from '../spec.ts'
import { integerCell, textCell } from './cells.ts'

/** The largest id at the bounds; larger integers lose precision in conversions. */
const LARGE = 1e12
/** The syntax of §7.3. */
const ROW_NUMBER = /^(0|[1-9]\d*)$/

/** Returns the schema of an id, also in paths and queries. */
export const idSchema = ({ idPrefix }: Pick<MemberSpec, 'idPrefix'>): JsonSchema =>
  idPrefix === undefined
    ? integerSchema({ min: 1 })
    : { type: 'string', pattern: rowIdPattern(idPrefix) }

export const rowIdKind = {
  reader(spec) {
    const { idPrefix } = spec
    if (idPrefix === undefined) return createReader(integerFinder({ min: 1, ...spec }))
    const isId = (text: string) => isPrefixedId(idPrefix, text)
    return createReader(textFinder(spec, idWords(idPrefix), isId))
  },
  schema: idSchema,
  cell: ({ idPrefix }) => (idPrefix === undefined ? integerCell : textCell),
  fromQuery: (text) => (ROW_NUMBER.test(text) ? Number(text) : text),
  json: 'number',
  column: 'int',
  hasBounds: true,
  initial: { min: 1 },
  hasFreeDefault: true,
  sample: ({ spec: { idPrefix } }) => (idPrefix === undefined ? 1 : sampleRowId(idPrefix)),
  bounds: ({ idPrefix }) =>
    idPrefix === undefined ? [1, LARGE] : [lowestRowId(idPrefix), `${idPrefix}_${'z'.repeat(22)}`],
} as const satisfies Partial<FieldKind>
