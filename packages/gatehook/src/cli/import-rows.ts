/** Reads the rows of a file, NDJSON or CSV, as bodies that create them. Contains no requests. */

import type { ResourceDefinition } from '../declare/resources/resource.ts'
import { closestClause } from '../kernel/closest.ts'
import { Failure } from '../kernel/failure.ts'
import type { MistakeCode } from '../kernel/mistakes.ts'
import type { FieldSpec } from '../protocol/fields/fields.ts'
import { parseNumber } from '../protocol/fields/json-number.ts'
import { fieldKindOf, fieldKinds } from '../protocol/fields/kinds/table.ts'
import { parseJsonBody } from '../protocol/http/json-body.ts'
import { type CsvCell, readCsv, unescapeFormulas } from '../protocol/lists/csv-reader.ts'
import { RecordError, readLines } from '../protocol/lists/line-reader.ts'

/** A row of a file, or why its line has none. */
export type ImportLine = {
  readonly line: number
  /** The size of the row in the file: it does not depend on the declaration. Default: 0. */
  readonly characters?: number
} & ({ readonly body: Record<string, unknown> } | { readonly problem: string })

/**
 * Reads NDJSON, or with `isCsv` CSV whose first record has the names. Ends at malformed CSV and at
 * a record that is too long.
 */
export async function* readImportLines(
  parts: AsyncIterable<string>,
  definition: ResourceDefinition,
  isCsv: boolean,
): AsyncGenerator<ImportLine> {
  try {
    yield* isCsv ? readTable(parts, definition) : readObjects(parts, definition)
  } catch (error) {
    if (!(error instanceof RecordError)) throw error
    yield { line: error.line, problem: error.message }
  }
}

/** Removes the members that clients never write, which an export contains. */
function writableMembers(
  { fields }: ResourceDefinition,
  row: Record<string, unknown>,
): Record<string, unknown> {
  const entries = Object.entries(row).filter(([name]) => fields[name]?.write !== 'never')
  return Object.fromEntries(entries)
}

async function* readObjects(
  parts: AsyncIterable<string>,
  definition: ResourceDefinition,
): AsyncGenerator<ImportLine> {
  let line = 0
  for await (const text of readLines(parts)) {
    line += 1
    if (text.trim() === '') continue
    let row: unknown
    try {
      row = JSON.parse(line === 1 ? text.replace(/^\uFEFF/, '') : text)
    } catch {
      yield { line, problem: 'is not JSON' }
      continue
    }
    if (typeof row !== 'object' || row === null || Array.isArray(row)) {
      yield { line, problem: 'is not an object' }
      continue
    }
    const problem = findHiddenMistake(text)
    if (problem !== undefined) yield { line, problem }
    else if (!('_cursor' in row)) {
      const body = writableMembers(definition, row as Record<string, unknown>)
      yield { line, body, characters: JSON.stringify(row).length }
    }
  }
}

/** Mistakes that `JSON.parse` hides: it would import another value than the file has. */
const HIDDEN: Readonly<Partial<Record<MistakeCode, string>>> = {
  duplicate_member: 'has two members of one name',
  number_too_large: 'has a number that would lose digits',
  number_too_precise: 'has a fraction that would be rounded to a whole number',
}

/** Returns the hidden mistake of a valid JSON text; a request with it is 400. */
function findHiddenMistake(text: string): string | undefined {
  try {
    parseJsonBody(Buffer.from(text))
    return undefined
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return HIDDEN[error.errors?.[0]?.code as MistakeCode]
  }
}

async function* readTable(
  parts: AsyncIterable<string>,
  definition: ResourceDefinition,
): AsyncGenerator<ImportLine> {
  let names: readonly string[] | undefined
  for await (const { line, cells } of readCsv(parts)) {
    if (!names) {
      names = cells.map(({ text }) => text.replace(/^\uFEFF/, ''))
      const uniqueNames = new Set<string>()
      const twin = names.find((name) => uniqueNames.size === uniqueNames.add(name).size)
      if (twin !== undefined) return yield { line, problem: `names ${twin} twice` }
      const problems = findColumnMistakes(names, Object.keys(definition.fields))
      for (const problem of problems) yield { line, problem }
      if (problems.length > 0) return
    } else if (cells.length !== names.length) {
      yield { line, problem: `has ${cells.length} cells, and the first line ${names.length}` }
    } else {
      const row = names.map((name, at) => [name, cellValue(definition.fields[name], cells[at]!)])
      const wrong = row.find(([, value]) => value instanceof CellProblem)
      const characters = JSON.stringify([names, cells.map(({ text }) => text)]).length
      if (wrong) {
        yield { line, characters, problem: `${wrong[0]} ${(wrong[1] as CellProblem).words}` }
      } else yield { line, characters, body: writableMembers(definition, Object.fromEntries(row)) }
    }
  }
}

/** Returns a mistake for each column that is no field. Each line would repeat them. */
function findColumnMistakes(columns: readonly string[], fields: readonly string[]): string[] {
  const [separator] = columns.length === 1 ? (/[;\t|]/.exec(columns[0]!) ?? []) : []
  if (separator !== undefined) {
    const name = separator === '\t' ? 'a tab' : separator
    return [`has ${name} between names; CSV has commas: export the file with them`]
  }
  return columns
    .filter((column) => !fields.includes(column))
    .map((column) => `names ${column}, which is not a field${closestClause(column, fields)}`)
}

/** Why a cell has no value. */
class CellProblem {
  readonly words: string

  constructor(words: string) {
    this.words = words
  }
}

/**
 * Returns the JSON value of a cell; undefined for none. A text that its kind does not allow stays
 * text, which the API then rejects with a pointer; `f.json()` allows every text.
 */
function cellValue(spec: FieldSpec | undefined, { text, isQuoted }: CsvCell): unknown {
  if (text === '' && !isQuoted) return spec?.nullable ? null : undefined
  const { json, isAnyJson } = spec ? fieldKindOf(spec) : fieldKinds.string
  if (json === 'string' || spec?.idPrefix !== undefined) return unescapeFormulas(text)
  if (json === 'boolean') return text === 'true' || (text === 'false' ? false : text)
  if (json === 'number') return numberOf(text) ?? text
  try {
    const value: unknown = JSON.parse(text)
    const problem = findHiddenMistake(text)
    return problem === undefined ? value : new CellProblem(problem)
  } catch {
    return isAnyJson ? new CellProblem('is not JSON; a text has double quotes') : text
  }
}

/** Returns the number of a cell. Spreadsheets also write zeros before it. */
const numberOf = (text: string): number | undefined =>
  parseNumber(text.replace(/^(-?)0+(?=\d)/, '$1'))
