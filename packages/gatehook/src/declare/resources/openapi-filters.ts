/** The parameters of a list that name columns: sort, filters, searches (§7.7). Pure. */

import type { FieldSpec } from '../../protocol/fields/fields.ts'
import type { JsonSchema } from '../../protocol/fields/json-schema.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import { parameterSchema } from '../../protocol/fields/schema.ts'
import { wireName } from '../../protocol/lists/collection.ts'
import { OPERATORS, operatorRows } from '../../protocol/lists/filter.ts'
import { SEARCH, SEARCH_MAX_CHARACTERS } from '../../protocol/lists/search-term.ts'
import { TEXT_MAX_CHARACTERS } from '../../protocol/lists/text-filter.ts'
import { LIST_WORDS } from '../../protocol/lists/value-list.ts'
import type { CatalogEntry } from './catalog-entry.ts'

/** Returns the parameters for sort and filters, with the names of the version. */
export function columnParameters(entry: CatalogEntry, version: string): JsonSchema[] {
  const { specs, chain, related } = entry.shapes.get(version)!
  const inVersion = (columns: readonly string[]) =>
    Object.keys(specs).filter((name) => columns.includes(chain.renamed[name] ?? name))
  const { filter, prefix, contains, search, sort } = entry.definition
  const listed = (paths: readonly string[]) =>
    related.filter(({ column }) => paths.includes(wireName(column)))
  const sorts = [
    ...inVersion(sort),
    ...listed(entry.definition.related.sort).map(({ name }) => name),
  ]
  const sortValues = sorts.flatMap((name) => [name, `-${name}`])
  const description = 'Columns in order, `-` for descending. The id is always the last.'
  return [
    inQuery('sort', listOf({ type: 'string', enum: sortValues }), description, separated),
    ...inVersion(filter).flatMap((name) => filterParameters(name, specs[name]!)),
    ...listed(entry.definition.related.filter).flatMap(({ name, spec }) =>
      filterParameters(name, spec),
    ),
    ...searchParameter(inVersion(search)),
    ...textParameters(inVersion(prefix), 'prefix', 'begins with this text'),
    ...textParameters(inVersion(contains), 'contains', 'contains this text'),
  ]
}

const inQuery = (
  name: string,
  schema: JsonSchema,
  description: string,
  serialization: JsonSchema = {},
): JsonSchema => ({ name, in: 'query', description, ...serialization, schema })

/** Values separated by commas. */
const separated: JsonSchema = { style: 'form', explode: false }
const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items })

function searchParameter(names: readonly string[]): JsonSchema[] {
  if (names.length === 0) return []
  const fields = names.map((name) => `\`${name}\``).join(', ')
  const description =
    `Rows that have, for each word of this text, a word in ${fields} that begins with it. Case ` +
    'and accents do not count.'
  const schema = { type: 'string', minLength: 1, maxLength: SEARCH_MAX_CHARACTERS }
  return [inQuery(SEARCH, schema, description)]
}

const textParameters = (names: readonly string[], operator: string, effect: string) =>
  names.map((name) =>
    inQuery(
      `${name}[${operator}]`,
      { type: 'string', minLength: 1, maxLength: TEXT_MAX_CHARACTERS },
      `\`${name}\` ${effect}. Case counts, except in e-mail addresses.`,
    ),
  )

/** Operators whose parameters `filterParameters` describes itself. */
const OWN_WORDS: ReadonlySet<string> = new Set(['eq', 'null'])

/** Returns a parameter for each operator of a column. */
function filterParameters(name: string, spec: FieldSpec): JsonSchema[] {
  const scope = spec.visibleTo === undefined ? '' : ` Needs the scope \`${spec.visibleTo}\`.`
  const { isMap, isUnordered } = fieldKindOf(spec)
  if (isMap) {
    const description = `A value by its key: \`${name}[key]=value\`.`
    const schema = valueSchemaOf(spec)
    return [inQuery(name, schema, description, { style: 'deepObject', explode: true })]
  }
  const value = valueSchemaOf(spec)
  // Lists accept ranges of every column; the document omits those without a meaning.
  const operators = operatorRows
    .filter(([operator, { isRange }]) => !(isRange && isUnordered) && !OWN_WORDS.has(operator))
    .map(([operator, { words, isList }]) => {
      const description = `\`${name}\` ${words}.${scope}`
      const parameter = `${name}[${operator}]`
      return isList
        ? inQuery(parameter, listOf(value), `${description} ${LIST_WORDS}`, separated)
        : inQuery(parameter, value, description)
    })
  const isNull = `Whether \`${name}\` ${OPERATORS.null.words}.${scope}`
  return [
    inQuery(name, value, `\`${name}\` ${OPERATORS.eq.words}.${scope}`),
    ...operators,
    ...(spec.nullable ? [inQuery(`${name}[null]`, { type: 'boolean' }, isNull)] : []),
  ]
}

/** Returns the schema of a value in a query. */
function valueSchemaOf(spec: FieldSpec): JsonSchema {
  const { default: _default, description: _, ...schema } = parameterSchema(spec)
  return schema
}
