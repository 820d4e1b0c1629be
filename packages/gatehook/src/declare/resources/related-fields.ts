/**
 * Fields of rows to which rows refer, as filters and sorts of a list: `user.email` (§15.9). A path
 * has the names of relations (`relations.ts`) and ends with a field. Operators, rights and names in
 * versions are those of the field. Pure.
 */
import { closestSentence } from '../../kernel/closest.ts'
import type { DatabaseName } from '../../platform/storage/expressions.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import {
  type Collection,
  indexKey,
  type ListColumn,
  type RelatedStep,
  relatedName,
} from '../../protocol/lists/collection.ts'
import { chainChanges, fieldsInVersion } from '../versions/change.ts'
import { rowSource } from './derived.ts'
import { comparedName } from './folded-columns.ts'
import { ownerPathOf } from './ownership.ts'
import { relationsOf, type VersionFields } from './relations.ts'
import type { ResourceDefinition } from './resource.ts'
import { LIVE_ROWS } from './soft-deletion.ts'

type Resources = readonly ResourceDefinition[]

/** Most references of a path. */
const REFERENCES_MAX = 3

/** One reference of a path. */
interface PathReference {
  readonly from: ResourceDefinition
  readonly field: string
  readonly isNullable: boolean
  readonly to: ResourceDefinition
}

interface RelatedField {
  readonly references: readonly PathReference[]
  readonly field: string
  readonly spec: FieldSpec
}

const newestFields = ({ fields }: ResourceDefinition) => ({
  specs: fields as FieldSpecs,
  chain: { renamed: {} },
})

/** Follows a path of newest names. Returns a sentence for the developer instead of a mistake. */
function followPath(
  definition: ResourceDefinition,
  path: string,
  resources: Resources,
): RelatedField | string {
  const names = path.split('.')
  const last = names.pop()!
  if (names.length > REFERENCES_MAX) {
    return `${path} has ${names.length} references; at most ${REFERENCES_MAX} are possible`
  }
  const references: PathReference[] = []
  let from = definition
  for (const name of names) {
    const relations = relationsOf(from, newestFields(from))
    const relation = relations.find((candidate) => candidate.name === name)
    const to = resources.find((candidate) => candidate.name === relation?.target)
    if (!relation || !to) {
      const candidates = relations.map((candidate) => candidate.name)
      const closest = closestSentence(name, candidates)
      return `${path}: ${name} is no reference of ${from.name}. ${closest}`
    }
    references.push({ from, field: relation.field, isNullable: relation.isNullable, to })
    from = to
  }
  const spec = Object.hasOwn(from.fields, last) ? from.fields[last] : undefined
  if (!spec) {
    const candidates = Object.keys(from.fields)
    return `${path}: ${from.name} has no field ${last}. ${closestSentence(last, candidates)}`
  }
  return { references, field: last, spec }
}

const pathsOf = ({ related }: ResourceDefinition): string[] => [
  ...new Set([...related.filter, ...related.sort]),
]

/** Returns the fields of the paths of a resource. Their mistakes are reported at the start. */
const relatedFields = (definition: ResourceDefinition, resources: Resources) =>
  pathsOf(definition).flatMap((path) => {
    const followed = followPath(definition, path, resources)
    return typeof followed === 'string' ? [] : [{ path, ...followed }]
  })

/** Returns a sentence for the developer per mistake. */
export function findRelatedMistakes(
  definition: ResourceDefinition,
  resources: Resources,
): string[] {
  const { filter, sort } = definition.related
  const mistakes = pathsOf(definition).flatMap((path): string[] => {
    const followed = followPath(definition, path, resources)
    if (typeof followed === 'string') return [followed]
    const { references, field, spec } = followed
    const { name } = references.at(-1)!.to
    const { isMap, json } = fieldKindOf(spec)
    const isEntryFilter = isMap && !sort.includes(path)
    const written = references.find(({ from, field }) => from.fields[field]!.isWriteOnly)
    return [
      json === 'any' && !isEntryFilter && `${path}: ${field} of ${name} has no order`,
      (spec.isWriteOnly || written) &&
        `${path}: ${written?.field ?? field} is write-only, and a list would return its values`,
      spec.isSecret && !spec.isWriteOnly && `${path}: ${field} is secret, and logs have URLs`,
      spec.computed === 'read' &&
        `${path}: ${field} of ${name} is no column: add .stored() to filter or sort`,
    ].filter((mistake) => typeof mistake === 'string')
  })
  const tuples = definition.sortIndexes.flat().filter((name) => name.includes('.'))
  const inTuples = tuples.map((path) => `${path}: a tuple has fields of one table`)
  const count = new Set([...filter, ...sort]).size
  const beyond =
    count > PATHS_MAX ? [`${count} fields of other rows; at most ${PATHS_MAX} are possible`] : []
  return [...mistakes, ...inTuples, ...beyond].map((mistake) => `list: ${mistake}`)
}

const PATHS_MAX = 20

/** Returns the resources with the indexes that the paths of others demand of them. */
export const withRelatedIndexes = (resources: Resources): ResourceDefinition[] =>
  resources.map((target) => {
    const demanded = (select: (from: ResourceDefinition) => readonly string[]): string[] =>
      resources.flatMap((from) =>
        select(from).flatMap((path) => {
          const followed = followPath(from, path, resources)
          if (typeof followed === 'string') return []
          const isOfTarget = followed.references.at(-1)!.to === target
          const { isMap, json } = fieldKindOf(followed.spec)
          const isColumn = followed.spec.computed !== 'read' && (isMap || json !== 'any')
          return isOfTarget && isColumn ? [followed.field] : []
        }),
      )
    const filters = demanded(({ related }) => related.filterIndexes)
    const sorts = demanded(({ related }) => related.sortIndexes)
    if (filters.length + sorts.length === 0) return target
    return {
      ...target,
      filterIndexes: [...new Set([...target.filterIndexes, ...filters])],
      sortIndexes: [...target.sortIndexes, ...[...new Set(sorts)].map((field) => [field])],
    }
  })

/** Returns the columns of the paths of a resource, and the paths that filter and sort. */
export function relatedColumns(
  definition: ResourceDefinition,
  resources: Resources,
  {
    database,
    listColumn,
    missing,
  }: {
    readonly database: DatabaseName
    readonly listColumn: (name: string, spec: FieldSpec) => ListColumn
    readonly missing: ReadonlyMap<string, ReadonlySet<string>> | undefined
  },
): Pick<Collection, 'columns' | 'filter' | 'sort'> {
  const { filter, sort } = definition.related
  const columns = relatedFields(definition, resources).map(
    ({ path, references, field, spec }): ListColumn => {
      const { to } = references.at(-1)!
      const compared = comparedName(to.fields, field)
      const own = listColumn(field, spec)
      const isSorted = to.sortIndexes.some(([first, ...rest]) => first === field && !rest.length)
      const isFiltered = isSorted || to.filterIndexes.includes(field) || spec.unique === true
      const isUnique = compared !== field && spec.unique === true && !to.softDeletion
      const hasIndex = (isDeclared: boolean, names: readonly string[]) =>
        field === 'id' || (isDeclared && !missing?.get(to.name)?.has(indexKey(names)))
      const order = isUnique || field === 'id' ? [compared] : [compared, 'id']
      return {
        ...own,
        name: relatedName(path),
        nullable: true,
        isExpression: true,
        related: {
          steps: references.map((reference) => stepOf(reference, resources, database)),
          column: field,
          compared,
          isNullable: own.nullable === true,
          isTotal: references.every(({ isNullable }) => !isNullable),
          isSorted: hasIndex(isSorted, [field, 'id']),
          ...(!own.isMap && hasIndex(isFiltered, order) && { filterOrder: order.join(', ') }),
        },
      }
    },
  )
  return { columns, filter: filter.map(relatedName), sort: sort.map(relatedName) }
}

function stepOf({ field, to }: PathReference, resources: Resources, database: DatabaseName) {
  const owner = ownerPathOf(to, resources)
  const step: RelatedStep = {
    reference: field,
    resource: to.name,
    source: rowSource(to, database),
    ...(to.softDeletion && { where: LIVE_ROWS }),
    ...(owner && { owner }),
  }
  return step
}

/** A path in a version. */
export interface RelatedName {
  readonly name: string
  /** The name of its column. */
  readonly column: string
  /** The field in the version. */
  readonly spec: FieldSpec
}

/** Returns the paths that a version has, by its names. A conversion of another kind hides one. */
export function relatedNames(
  definition: ResourceDefinition,
  resources: Resources,
  versions: readonly string[],
  version: string,
): RelatedName[] {
  const inVersion = ({ fields, changes }: ResourceDefinition): VersionFields => ({
    specs: fieldsInVersion(
      fields,
      changes as Parameters<typeof fieldsInVersion<FieldSpec>>[1],
      versions,
      version,
    ),
    chain: chainChanges(changes, versions, version),
  })
  return relatedFields(definition, resources).flatMap(({ path, references, field }) => {
    const names = references.map(
      ({ from, field }) => relationsOf(from, inVersion(from)).find((r) => r.field === field)?.name,
    )
    const { specs, chain } = inVersion(references.at(-1)!.to)
    const last = Object.keys(specs).find((name) => (chain.renamed[name] ?? name) === field)
    if (last === undefined || names.includes(undefined)) return []
    return [{ name: [...names, last].join('.'), column: relatedName(path), spec: specs[last]! }]
  })
}
