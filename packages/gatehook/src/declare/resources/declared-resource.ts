/**
 * Reads the options of `resource(name, {…})`, also those of plain JavaScript, and reports their
 * mistakes. Pure.
 */
import {
  DeclarationError,
  findUnknownMembers,
  reportMistakes,
} from '../../protocol/fields/declaration-mistakes.ts'
import type { FieldSpec, Fields } from '../../protocol/fields/fields.ts'
import { findOptionsOfApi } from './api-options.ts'
import { isObject, specsOf, validSpecsOf } from './chain-check.ts'
import { type CollectionOptions, readCollectionOptions } from './collection-options.ts'
import { declaredMembers } from './declared-members.ts'
import { findUnknownColumns } from './derived-columns.ts'
import {
  findRepeatedListFields,
  isListField,
  isSortField,
  type ListOptions,
  readListOptions,
} from './list-options.ts'
import type { Access } from './resource-options.ts'
import { type RetiredOptions, readRetired } from './retired-columns.ts'
import { COLLECTION_NAME, readSingular } from './singular.ts'
import { addDeletedField } from './soft-deletion.ts'
import { findTakenName } from './sql-words.ts'

/** The call that declared the fields of a resource. */
const siteOfFields = new WeakMap<object, Error>()

/** Returns the call of `resource(…)`, for the file and the line of a mistake. */
export const declarationSite = ({ fields }: { readonly fields: object }): Error | undefined =>
  siteOfFields.get(fields)

/** The options of a resource, as plain JavaScript passes them. */
interface Parts extends CollectionOptions<string>, RetiredOptions {
  readonly fields?: Fields
  readonly list?: Partial<ListOptions>
  readonly access?: Partial<Access> | false
  readonly events?: readonly string[]
  readonly singular?: string
  readonly unique?: readonly (readonly string[])[]
}

/**
 * Returns the definition of a resource without its chain. Throws `DeclarationError`, unless
 * mistakes are collected (`reportMistakes`).
 */
export function readResource(name: string, options: unknown) {
  const parts = (isObject(options) ? options : {}) as Parts
  const list = validList(parts.list)
  const mistakes = [
    ...nameMistakes(name),
    ...findUnknownMembers(parts, declaredMembers.resource),
    ...findMissingMembers(parts),
    ...findRepeatedListFields(list),
    ...(parts.access === false ? findOptionsOfApi(parts) : []),
  ]
  /** Adds the mistakes of a part, and returns its valid rest. */
  const read = <T>(part: () => T, rest: () => T): T => {
    try {
      return part()
    } catch (error) {
      if (!(error instanceof DeclarationError)) throw error
      mistakes.push(...error.message.split('\n'))
      return rest()
    }
  }
  const access = parts.access !== false && validAccess(name, parts.access)
  const deletionScope = access ? access.delete : false
  const search = isNames(parts.search ?? []) ? parts.search : []
  const collected = { ...parts, ...(search && { search }) }
  const features = read(
    () => readCollectionOptions(access ? collected : {}, deletionScope),
    () => readCollectionOptions({}, deletionScope),
  )
  const declared = isObject(parts.fields)
    ? read(
        () => specsOf(parts.fields!, true),
        () => validSpecsOf(parts.fields),
      )
    : { id: PLACEHOLDER_ID }
  const fields = read(
    () => withId(addDeletedField(declared, features.softDeletion)),
    () => ({ id: PLACEHOLDER_ID, ...declared }),
  )
  siteOfFields.set(fields, new Error())
  const definition = {
    name: String(name),
    singular: read(
      () => readSingular(name, parts.singular),
      () => String(name),
    ),
    fields,
    ...readListOptions(list),
    access,
    events: access && Array.isArray(parts.events) ? parts.events : [],
    actions: [],
    changes: [],
    links: undefined,
    checks: [],
    rules: [],
    computations: {},
    unique: isArrayOf(parts.unique, isTuple) ? parts.unique! : [],
    sample: undefined,
    signsIn: undefined,
    ownedBy: undefined,
    editable: [],
    retired: read(
      () => readRetired(parts, fields),
      () => [],
    ),
    ...features,
  }
  reportMistakes([
    ...mistakes.map((mistake) => `resource ${name}: ${mistake}`),
    ...findUnknownColumns(name, fields),
  ])
  return definition
}

function nameMistakes(name: string): string[] {
  if (!COLLECTION_NAME.test(name)) return ['names are snake_case, at most 41 characters']
  const taken = findTakenName(name)
  return taken === undefined ? [] : [taken]
}

const PLACEHOLDER_ID: FieldSpec = { kind: 'id', write: 'never', nullable: false, min: 1 }

function withId(fields: Record<string, FieldSpec>): Record<string, FieldSpec> {
  const [first, ...others] = Object.entries(fields)
  if (first?.[0] !== 'id' || first[1].kind !== 'id') {
    throw new DeclarationError('the first field is `id: f.id()`')
  }
  const second = others.find(([, { kind }]) => kind === 'id')
  if (!second) return fields
  throw new DeclarationError(`field ${second[0]}: a row has one id; use f.ref(…) or f.uuid()`)
}

/** Returns the access with a valid member for each that plain JavaScript omitted. */
const validAccess = (name: string, access: unknown): Access => ({
  ...{ read: `${name}:read`, create: false, update: false, delete: false },
  ...(isObject(access) && definedMembers(access as object)),
})

const definedMembers = (object: object): object =>
  Object.fromEntries(
    Object.entries(object).filter(([, value]) => (value ?? undefined) !== undefined),
  )

const ACCESS_FORMS = {
  read: "a scope, or 'public'",
  create: 'a scope, or false',
  update: 'a scope, or false',
  delete: 'a scope, or false',
} as const

/** Reports each operation to which plain JavaScript gives no access and no `false`. */
function accessMistakes(access: Parts['access']): string[] {
  if (access === false) return []
  if (!isObject(access)) {
    return [
      'access is required: a scope or false for read, create, update, delete; ' +
        'or false, if own code alone uses the rows',
    ]
  }
  const operations = Object.keys(ACCESS_FORMS) as (keyof typeof ACCESS_FORMS)[]
  return operations
    .filter((operation) => (access![operation] ?? undefined) === undefined)
    .map((operation) => `access.${operation} is required: ${ACCESS_FORMS[operation]}`)
}

const isArrayOf = (value: unknown, isItem: (item: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every(isItem)

const isNames = (value: unknown): boolean => isArrayOf(value, (name) => typeof name === 'string')

const isTuple = (value: unknown): boolean => isNames(value) && (value as []).length > 0

const UNINDEXED = '{ field, index: false }'

/** Reports required members that plain JavaScript omitted, and those without a form. */
function findMissingMembers({
  fields,
  list,
  access,
  events,
  unique = [],
  search = [],
}: Parts): string[] {
  const isListed = access !== false || list !== undefined
  const sentences = [
    !isObject(fields) && 'fields is required, for example { id: f.id() }',
    isListed &&
      !isArrayOf(list?.filter, isListField) &&
      `list.filter is required: an array of field names or ${UNINDEXED}, or []`,
    isListed &&
      !isArrayOf(list?.sort, isSortField) &&
      `list.sort is required: an array of field names, tuples of them or ${UNINDEXED}, or []`,
    !isNames(list?.prefix ?? []) && 'list.prefix is an array of field names',
    !isNames(list?.contains ?? []) && 'list.contains is an array of field names',
    !isNames(search) && "search is an array of field names: ['name']",
    !isArrayOf(unique, isTuple) && "unique is an array of tuples: [['room_id', 'day']]",
    access !== false &&
      !Array.isArray(events) &&
      'events is required: an array of event types, or []',
  ]
  return [...accessMistakes(access), ...sentences.filter((sentence) => sentence !== false)]
}

/** Returns the valid entries of `list`. */
function validList(list: unknown): ListOptions {
  const { filter, sort, prefix, contains } = (isObject(list) ? list : {}) as Partial<ListOptions>
  return {
    filter: Array.isArray(filter) ? filter.filter(isListField) : [],
    sort: Array.isArray(sort) ? sort.filter(isSortField) : [],
    prefix: isNames(prefix) ? prefix! : [],
    contains: isNames(contains) ? contains! : [],
  }
}
