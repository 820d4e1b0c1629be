/**
 * Derived fields: `f.derived(type, sql)`. The database computes the value from the columns of the
 * row when it reads the row, so that no value is stored. A derived field that sorts or filters has
 * an index of the expression. `derived-check.ts` verifies the expressions at start.
 */
import { hash } from 'node:crypto'
import type { FieldError } from '../../kernel/failure.ts'
import type { Tx, Value } from '../../platform/storage/database.ts'
import {
  boundedText,
  castNumber,
  type DatabaseName,
  exactInteger,
  integerType,
  isUncomputable,
  textFor,
} from '../../platform/storage/expressions.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { formOf, isSameValue, toJson } from '../../protocol/fields/forms.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import { createObjectReader } from '../../protocol/fields/reader.ts'
import type { AnyRow } from '../versions/change.ts'
import { columnType } from './column-types.ts'
import { rowComputer, tableFields } from './computed.ts'
import type { ResourceDefinition } from './resource.ts'
import { DELETED_FIELD } from './soft-deletion.ts'
import { validationFailure } from './validate.ts'

type DeclaredFields = Readonly<Record<string, FieldSpec>>

/** Returns the derived fields in declared order. */
export const derivedFields = (fields: DeclaredFields): [name: string, spec: FieldSpec][] =>
  Object.entries(fields).filter(([, { computed }]) => computed === 'derived')

const DEFAULT_TEXT_MAX = 255
const HASH_LENGTH = 8
/** PostgreSQL has names of at most 63 bytes. */
const STEM_MAX = 63 - HASH_LENGTH - 1

/** Returns the SQL of the value, which has the type of a column of its kind. */
export function derivedSql(spec: FieldSpec, database: DatabaseName): string {
  const text = textFor(database, spec.derived!)
  const { expression } = fieldKindOf(spec)
  if (expression) return expression(text, integerType(database))
  const type = columnType(spec)
  if (type === 'int') return exactInteger(database, text)
  if (type === 'real') return castNumber(database, text, 'real')
  // An index has keys of a bounded size.
  return boundedText(database, text, spec.max ?? DEFAULT_TEXT_MAX)
}

/** Returns the terms of a select list, as `a, b, (…) AS c`. */
export const selectTerms = (
  fields: readonly (readonly [name: string, spec: FieldSpec])[],
  database: DatabaseName,
): string =>
  fields
    .map(([name, spec]) =>
      spec.computed === 'derived' ? `${derivedSql(spec, database)} AS ${name}` : name,
    )
    .join(', ')

/** Returns the source of the rows in statements of lists: the table, with its derived fields. */
export function rowSource({ name, fields }: ResourceDefinition, database: DatabaseName): string {
  const derived = derivedFields(fields)
  if (derived.length === 0) return name
  // Both databases merge the subquery into the statement, and use the indexes of the table.
  return `(SELECT ${name}.*, ${selectTerms(derived, database)} FROM ${name}) AS ${name}`
}

interface NamedIndex {
  readonly name: string
  readonly columns: readonly string[]
  /** The beginning of the name, if its end is a hash of expressions. */
  readonly stem?: string
}

/** Returns the index with the SQL of derived columns, and a name that changes with the SQL. */
export function indexOfExpressions<I extends NamedIndex>(
  index: I,
  fields: DeclaredFields,
  database: DatabaseName,
): I {
  const isDerived = (column: string) => fields[column]?.computed === 'derived'
  if (!index.columns.some(isDerived)) return index
  const columns = index.columns.map((column) =>
    isDerived(column) ? `(${derivedSql(fields[column]!, database)})` : column,
  )
  const stem = `${index.name.slice(0, STEM_MAX)}_`
  return {
    ...index,
    name: stem + hash('sha1', columns.join()).slice(0, HASH_LENGTH),
    columns,
    stem,
  }
}

/** Returns whether an index has an earlier expression of one of these indexes. */
export const isEarlierExpression = (name: string, indexes: readonly NamedIndex[]): boolean =>
  /_[0-9a-f]{8}$/.test(name) &&
  !indexes.some((index) => index.name === name) &&
  indexes.some(({ stem }) => stem === name.slice(0, -HASH_LENGTH))

/**
 * Returns the function that sets the derived values of a row after a change. It throws
 * `validation_failed` for a new value that its field rejects. A deleted row retains those that it
 * had. Undefined for a resource without derived fields.
 */
export function derivedRefresher(
  definition: ResourceDefinition,
): ((tx: Tx, scope: number, row: AnyRow) => Promise<void>) | undefined {
  const { name, fields } = definition
  const derived = derivedFields(fields)
  if (derived.length === 0) return undefined
  const compute = derivedComputation(definition)
  const textFor = (database: DatabaseName) =>
    `SELECT ${selectTerms(derived, database)} FROM ${name} WHERE scope = ? AND id = ?`
  const select = prepareStatement(textFor('postgres'), textFor('sqlite'))
  const computeReads = rowComputer(definition, false)
  const check = derivedValueCheck(definition, derived)
  return async (tx, scope, row) => {
    const [cells] = await compute(() => tx.arrays(select([scope, row.id])))
    if (!cells) return
    const before = { ...row }
    for (const [at, [field, spec]] of derived.entries()) {
      row[field] = rowValueOf(spec, cells[at]!)
    }
    if (!(row[DELETED_FIELD] ?? false)) check(before, row)
    computeReads(row)
  }
}

function rowValueOf(spec: FieldSpec, cell: Value): unknown {
  const { cell: form } = formOf(spec)
  return form && cell !== null ? form.from(cell) : cell
}

/**
 * Returns the function that runs a statement with a new row. It throws `validation_failed`, with
 * the fields that clients write, if the database cannot compute one of the derived values.
 */
export function derivedComputation(
  definition: ResourceDefinition,
): <T>(statement: () => Promise<T>) => Promise<T> {
  const derived = derivedFields(definition.fields)
  if (derived.length === 0) return (statement) => statement()
  return async (statement) => {
    try {
      return await statement()
    } catch (error) {
      if (!isUncomputable(error)) throw error
      const code = 'invalid_value'
      const message = 'is part of a value that cannot be computed'
      const inputs = new Set(derived.flatMap(([, spec]) => inputsOf(spec, definition)))
      throw validationFailure([...inputs].map((name) => ({ pointer: `/${name}`, code, message })))
    }
  }
}

/** Returns the fields that clients write and an expression reads. */
const inputsOf = (spec: FieldSpec, definition: ResourceDefinition): string[] =>
  columnsRead(spec, definition).filter((name) => definition.fields[name]!.write !== 'never')

/** Returns the names of the columns that an expression may read: its words outside of literals. */
export function columnsRead(
  { derived }: FieldSpec,
  { fields }: Pick<ResourceDefinition, 'fields'>,
): string[] {
  const texts = `${derived!.sqlite} ${derived!.postgres}`.replace(/'[^']*'/g, "''")
  const words = new Set(texts.toLowerCase().match(/\b[a-z_]\w*\b(?!\s*\()/g))
  return tableFields(fields).flatMap(([name]) => (words.has(name) ? name : []))
}

/**
 * Returns the function that throws for a derived value that a change sets beyond its field, with
 * the fields that clients write and the expression reads. A value that stays is no mistake.
 */
function derivedValueCheck(
  definition: ResourceDefinition,
  derived: readonly (readonly [name: string, spec: FieldSpec])[],
): (before: AnyRow, after: AnyRow) => void {
  const readers = derived.map(([field, spec]) => {
    const inputs = inputsOf(spec, definition)
    const members = { [field]: { ...spec, write: 'optional' as const } }
    return { field, spec, inputs, read: createObjectReader({ members }) }
  })
  return (before, after) => {
    const pointers = new Map<string, FieldError>()
    for (const { field, spec, inputs, read } of readers) {
      if (isSameValue(before[field], after[field])) continue
      const [mistake] = read({ [field]: toJson(spec, after[field]) }).errors
      if (!mistake) continue
      const message = `is part of a value that ${mistake.message}`
      for (const input of inputs.length > 0 ? inputs : [undefined]) {
        const pointer = input === undefined ? '' : `/${input}`
        if (!pointers.has(pointer)) pointers.set(pointer, { ...mistake, pointer, message })
      }
    }
    if (pointers.size > 0) throw validationFailure([...pointers.values()])
  }
}
