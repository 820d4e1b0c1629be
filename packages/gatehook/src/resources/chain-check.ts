/**
 * Validates each call of a resource's chain, so that an error has the file and the line of the
 * call. Types prevent these mistakes in TypeScript; plain JavaScript meets them here. Pure.
 */
import { Field, type FieldSpec, type Fields } from '../fields/fields.ts'
import type { Change } from '../versions/change.ts'
import { checkField, DeclarationError, STATE_FIELD } from './field-check.ts'
import { isListField, isSortField } from './list-options.ts'
import { findSignInTypeMistakes } from './sign-in.ts'

/** The parts of a resource that a call refers to. */
interface ChainTarget {
  readonly name: string
  readonly fields: Readonly<Record<string, FieldSpec>>
}

/** Throws `DeclarationError` with all mistakes of a call: `resource orders: .action(pay): …`. */
function reject({ name }: ChainTarget, call: string, mistakes: readonly string[]): void {
  if (mistakes.length === 0) return
  throw new DeclarationError(`resource ${name}: ${call}: ${mistakes.join('; ')}`)
}

const functionMistake = (name: string, value: unknown): string[] =>
  typeof value === 'function' ? [] : [`${name} is a function`]

/** Reports fields that the resource lacks. */
const unknownFields = ({ fields }: ChainTarget, names: unknown): string[] =>
  Array.isArray(names)
    ? names
        .filter((name) => !Object.hasOwn(fields, String(name)))
        .map((name) => `there is no field ${name}`)
    : ['an array of field names is required']

/** Reports states that the field `status` lacks. */
function unknownStates({ fields }: ChainTarget, names: readonly unknown[]): string[] {
  if (names.length === 0) return []
  const spec = fields[STATE_FIELD]
  if (!spec) return [`states are the values of a field ${STATE_FIELD}, which is not declared`]
  return names
    .filter((name) => spec.values && !spec.values.includes(String(name)))
    .map((name) => `there is no state ${name}; the states are ${spec.values!.join(', ')}`)
}

interface ActionParts {
  readonly scope?: unknown
  readonly from?: unknown
  readonly to?: unknown
  readonly emits?: unknown
  readonly input?: unknown
  readonly run?: unknown
}

export function checkAction(definition: ChainTarget, name: string, options: unknown): void {
  const call = `.action(${name})`
  if (typeof options !== 'object' || options === null) {
    reject(definition, call, ['options are required, for example { scope }'])
  }
  const { scope, from, to, emits, input = {}, run } = options as ActionParts
  const states = [...(Array.isArray(from) ? from : []), ...(to === undefined ? [] : [to])]
  reject(definition, call, [
    ...(/^[a-z][a-z0-9_-]*$/.test(name) ? [] : ['names look like ship or mark_as_paid']),
    ...(typeof scope === 'string' ? [] : ['scope is required']),
    ...(from === undefined || Array.isArray(from) ? [] : ['from is an array of states']),
    ...unknownStates(definition, states),
    ...(emits === undefined || typeof emits === 'string' ? [] : ['emits is an event type']),
    ...(isObject(input) ? [] : ['input is an object of fields']),
    ...(run === undefined ? [] : functionMistake('run', run)),
  ])
}

export function checkEditable(definition: ChainTarget, fields: unknown, options: unknown) {
  const from = (options as { from?: unknown } | undefined)?.from
  const states = Array.isArray(from)
    ? unknownStates(definition, from)
    : ['from is an array of states']
  reject(definition, '.editable()', [...unknownFields(definition, fields), ...states])
}

export function checkFieldName(definition: ChainTarget, call: string, field: unknown): void {
  reject(definition, call, unknownFields(definition, [field]))
}

export function checkSignIn(definition: ChainTarget, options: unknown): void {
  const { username } = (options ?? {}) as { readonly username?: unknown }
  reject(definition, '.signsIn()', [
    ...unknownFields(definition, [username]),
    ...findSignInTypeMistakes(options),
  ])
}

export function checkFunction(definition: ChainTarget, call: string, value: unknown): void {
  reject(definition, call, functionMistake('the argument', value))
}

interface ChangeParts {
  readonly why?: unknown
  readonly had?: unknown
  readonly hadNot?: unknown
  readonly up?: unknown
  readonly down?: unknown
}

export function checkChange(
  definition: ChainTarget,
  version: string,
  change: ChangeParts | undefined,
): void {
  const { why, had, hadNot, up, down } = change ?? {}
  reject(definition, `.before('${version}')`, [
    ...(typeof why === 'string' && why !== '' ? [] : ['why is required, for the changelog']),
    ...(typeof had === 'object' && had !== null ? [] : ['had is an object of fields']),
    ...(Array.isArray(hadNot) ? [] : ['hadNot is an array of field names']),
    ...functionMistake('up', up),
    ...functionMistake('down', down),
  ])
}

/** Returns the data of declared fields. Throws `DeclarationError`. */
export function specsOf(fields: Fields): Record<string, FieldSpec> {
  const specs: Record<string, FieldSpec> = {}
  for (const [name, field] of Object.entries(fields)) {
    if (!((field as unknown) instanceof Field)) {
      throw new DeclarationError(`field ${name}: is not a field, for example f.string()`)
    }
    checkField(name, field.spec)
    specs[name] = field.spec
  }
  return specs
}

export function checkNamedCheck(
  target: ChainTarget,
  name: string,
  rule: unknown,
  sentence: unknown,
): void {
  reject(target, `.check(${name})`, [
    ...(/^[a-z][a-z0-9_]{0,62}$/.test(name) ? [] : ['names look like days_in_order']),
    ...functionMistake('the second argument', rule),
    ...(typeof sentence === 'string' ? [] : ['the third argument is a sentence for the client']),
  ])
}

/** The options of a resource, as plain JavaScript passes them. */
interface ResourceParts {
  readonly fields?: unknown
  readonly list?: Readonly<Partial<Record<'filter' | 'sort' | 'prefix' | 'contains', unknown>>>
  readonly access?: unknown
  readonly events?: unknown
  readonly unique?: unknown
  readonly search?: unknown
}

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isArrayOf = (value: unknown, isItem: (item: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every(isItem)

const isNames = (value: unknown): boolean => isArrayOf(value, (name) => typeof name === 'string')

const UNINDEXED = '{ field, index: false }'

/** Throws `DeclarationError` for required members that plain JavaScript omitted. */
export function requireMembers(options: ResourceParts | undefined): void {
  const { fields, list, access, events, unique = [], search } = options ?? {}
  const missing = [
    !isObject(fields) && 'fields is required, for example { id: f.id() }',
    !isArrayOf(list?.filter, isListField) &&
      `list.filter is required: an array of field names or ${UNINDEXED}, or []`,
    !isArrayOf(list?.sort, isSortField) &&
      `list.sort is required: an array of field names, tuples of them or ${UNINDEXED}, or []`,
    !isNames(list?.prefix ?? []) && 'list.prefix is an array of field names',
    !isNames(list?.contains ?? []) && 'list.contains is an array of field names',
    !isNames(search ?? []) && "search is an array of field names: ['name']",
    !isObject(access) && 'access is required: a scope or false for read, create, update, delete',
    !(Array.isArray(unique) && unique.every(Array.isArray)) &&
      "unique is an array of tuples: [['room_id', 'day']]",
    !Array.isArray(events) && 'events is required: an array of event types, or []',
  ].filter((sentence) => sentence !== false)
  if (missing.length > 0) throw new DeclarationError(missing.join('; '))
}

/**
 * Reports versions in the wrong order, and names that a change refers to and its version lacks.
 *
 * @param newest the names of the newest version
 */
export function findChainMistakes(
  newest: readonly string[],
  changes: readonly Pick<Change, 'version' | 'had' | 'hadNot'>[],
  versions: readonly string[],
): string[] {
  const mistakes: string[] = []
  const order = changes.map(({ version }) => versions.indexOf(version))
  if (order.some((index) => index < 1)) {
    mistakes.push(`.before() names a version after the first of ${versions.join(', ')}`)
  }
  if (order.some((index, n) => n > 0 && index > order[n - 1]!)) {
    mistakes.push('.before() comes newest version first')
  }
  const names = new Set(newest)
  for (const { version, had, hadNot } of changes) {
    for (const name of hadNot) {
      if (!names.delete(name)) mistakes.push(`.before('${version}'): there was no field ${name}`)
    }
    for (const name of Object.keys(had)) {
      if (names.has(name)) mistakes.push(`.before('${version}'): name ${name} in hadNot too`)
      names.add(name)
    }
  }
  return mistakes
}
