/**
 * Validates each call of a resource's chain, so that an error has the file and the line of the
 * call. Types prevent these mistakes in TypeScript; plain JavaScript meets them here. Pure.
 */

import { missingField } from '../../kernel/closest.ts'
import { mistakes as engineMistakes } from '../../kernel/mistakes.ts'
import {
  DeclarationError,
  findUnknownMembers,
  reportMistakes,
  type Shape,
} from '../../protocol/fields/declaration-mistakes.ts'
import { Field, type FieldSpec, type Fields } from '../../protocol/fields/fields.ts'
import { isSentence } from '../../protocol/fields/json-value.ts'
import type { Change } from '../versions/change.ts'
import { findFieldMistakes, STATE_FIELD } from './field-check.ts'
import { findListedMistakes } from './listed-failures.ts'
import { findSignInTypeMistakes } from './sign-in.ts'

/** The parts of a resource that a call refers to. */
interface ChainTarget {
  readonly name: string
  readonly fields: Readonly<Record<string, FieldSpec>>
}

/** Throws `DeclarationError` with all mistakes of a call: `resource orders: .action(pay): …`. */
function reject({ name }: ChainTarget, call: string, mistakes: readonly string[]): void {
  if (mistakes.length === 0) return
  const sentences = mistakes.map((mistake) => `resource ${name}: ${call}: ${mistake}`)
  throw new DeclarationError(sentences.join('\n'))
}

/** Reports members that the options of a call lack. */
export function reportUnknown(
  { name }: ChainTarget,
  call: string,
  options: unknown,
  shape: Shape,
): void {
  const mistakes = findUnknownMembers(options, shape)
  reportMistakes(mistakes.map((mistake) => `resource ${name}: ${call}: ${mistake}`))
}

const functionMistake = (name: string, value: unknown): string[] =>
  typeof value === 'function' ? [] : [`${name} is a function`]

/** Reports fields that the resource lacks. */
const unknownFields = ({ fields }: ChainTarget, names: unknown): string[] =>
  Array.isArray(names)
    ? names
        .filter((name) => !Object.hasOwn(fields, String(name)))
        .map((name) => missingField(String(name), fields))
    : ['an array of field names is required']

/** Reports states that the field `status` lacks. */
function unknownStates({ fields }: ChainTarget, names: readonly unknown[]): string[] {
  if (names.length === 0) return []
  const spec = fields[STATE_FIELD]
  if (!spec) return [`states are the values of a field ${STATE_FIELD}, which is not declared`]
  return names
    .filter((name) => spec.values && !spec.values.includes(String(name)))
    .map((name) => `there is no state ${String(name)}; the states are ${spec.values!.join(', ')}`)
}

/** Reports the mistakes of `from`. */
function findStateMistakes(definition: ChainTarget, from: unknown): string[] {
  if (!Array.isArray(from)) return ['from is an array of states']
  return from.length === 0
    ? ['from has no state, so that it is never possible']
    : unknownStates(definition, from)
}

interface ActionParts {
  readonly scope?: unknown
  readonly from?: unknown
  readonly to?: unknown
  readonly emits?: unknown
  readonly input?: unknown
  readonly run?: unknown
  readonly failures?: unknown
  readonly mcp?: unknown
}

export function checkAction(definition: ChainTarget, name: string, options: unknown): void {
  const call = `.action(${name})`
  if (typeof options !== 'object' || options === null) {
    reject(definition, call, ['options are required, for example { scope }'])
  }
  const { scope, from, to, emits, input = {}, run, failures, mcp } = options as ActionParts
  reject(definition, call, [
    ...(/^[a-z][a-z0-9_-]*$/.test(name) ? [] : ['names look like ship or mark_as_paid']),
    ...(isActionScope(scope)
      ? []
      : ['scope is required; `false` for an action that own code alone runs']),
    ...(from === undefined ? [] : findStateMistakes(definition, from)),
    ...unknownStates(definition, to === undefined ? [] : [to]),
    ...(emits === undefined || typeof emits === 'string' ? [] : ['emits is an event type']),
    ...(isObject(input) ? [] : ['input is an object of fields']),
    ...(run === undefined ? [] : functionMistake('run', run)),
    ...findListedMistakes(failures),
    ...(mcp === undefined || typeof mcp === 'boolean' ? [] : ['mcp is true or false']),
  ])
}

const isActionScope = (scope: unknown): scope is string | false =>
  typeof scope === 'string' || scope === false

/** Returns the valid parts of an action with mistakes, so that others can refer to it. */
export function validAction({ fields }: ChainTarget, name: string, options: unknown) {
  const { scope, from, to, emits } = (isObject(options) ? options : {}) as ActionParts
  const states = fields[STATE_FIELD]?.values ?? []
  return {
    name,
    scope: (isActionScope(scope) ? scope : `${name}:write`) as string | false,
    from: Array.isArray(from) ? from.filter((state) => states.includes(state)) : undefined,
    to: states.find((state) => state === to),
    emits: typeof emits === 'string' ? emits : undefined,
    input: {},
    inputChanges: [],
    run: undefined,
    failures: [],
  }
}

export function checkEditable(definition: ChainTarget, fields: unknown, options: unknown) {
  const from = (options as { from?: unknown } | undefined)?.from
  reject(definition, '.editable()', [
    ...unknownFields(definition, fields),
    ...findStateMistakes(definition, from),
  ])
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

/** Reports a call that would replace what another one has set. */
export function checkFirst(definition: ChainTarget, call: string, earlier: unknown): void {
  reject(definition, call, earlier === undefined ? [] : ['is declared twice'])
}

export function checkFunction(definition: ChainTarget, call: string, value: unknown): void {
  reject(definition, call, functionMistake('the argument', value))
}

export function checkRule(
  definition: ChainTarget,
  call: string,
  rule: unknown,
  options: { readonly failures?: unknown } | undefined,
): void {
  const mistakes = findListedMistakes(options?.failures)
  reject(definition, call, [...functionMistake('the second argument', rule), ...mistakes])
}

interface ChangeParts {
  readonly why?: unknown
  readonly had?: unknown
  readonly hadNot?: unknown
  readonly up?: unknown
  readonly down?: unknown
  readonly renamed?: unknown
}

export function checkChange(
  definition: ChainTarget,
  version: string,
  change: ChangeParts | undefined,
): void {
  const { why, had, hadNot, up, down, renamed } = change ?? {}
  reject(definition, `.before('${version}')`, [
    ...(isSentence(why) ? [] : ['why is required, for the changelog']),
    ...(typeof had === 'object' && had !== null ? [] : ['had is an object of fields']),
    ...(Array.isArray(hadNot) ? [] : ['hadNot is an array of field names']),
    ...functionMistake('up', up),
    ...functionMistake('down', down),
    ...(renamed === undefined ? [] : renamedMistakes(renamed, had, hadNot)),
  ])
}

/** Reports names that are not those of one field each in the older and the newer version. */
function renamedMistakes(renamed: unknown, had: unknown, hadNot: unknown): string[] {
  if (!isObject(renamed)) return ['renamed is an object: { old_name: "new_name" }']
  const newer: readonly unknown[] = Array.isArray(hadNot) ? hadNot : []
  return Object.entries(renamed as object).flatMap(([old, name]) => [
    ...(isObject(had) && Object.hasOwn(had as object, old) ? [] : [`renamed: had lacks ${old}`]),
    ...(newer.includes(name) ? [] : [`renamed: hadNot lacks ${String(name)}`]),
  ])
}

/**
 * Returns the data of declared fields. Throws `DeclarationError` with the mistakes of all.
 *
 * @param isColumn whether they are columns, whose names SQL limits
 */
export function specsOf(fields: Fields, isColumn = false): Record<string, FieldSpec> {
  const mistakes = Object.entries(fields).flatMap(([name, field]) => {
    if (!((field as unknown) instanceof Field)) {
      return [`field ${name}: is not a field, for example f.string()`]
    }
    return findFieldMistakes(name, field.spec, { isColumn })
  })
  if (mistakes.length > 0) throw new DeclarationError(mistakes.join('\n'))
  return validSpecsOf(fields)
}

const PLACEHOLDER: FieldSpec = { kind: 'string', write: 'optional', nullable: true, max: 255 }

/** Returns the data of fields, and that of a text for a value that is no field. */
export const validSpecsOf = (fields: unknown): Record<string, FieldSpec> =>
  Object.fromEntries(
    Object.entries(isObject(fields) ? (fields as Fields) : {}).map(([name, field]) => [
      name,
      (field as unknown) instanceof Field ? field.spec : PLACEHOLDER,
    ]),
  )

export function checkNamedCheck(
  target: ChainTarget,
  name: string,
  rule: unknown,
  sentence: unknown,
): void {
  reject(target, `.check(${name})`, [
    ...(/^[a-z][a-z0-9_]{0,62}$/.test(name) ? [] : ['names look like days_in_order']),
    ...(Object.hasOwn(engineMistakes, name) ? [`${name} is a code of the engine`] : []),
    ...functionMistake('the second argument', rule),
    ...(typeof sentence === 'string' ? [] : ['the third argument is a sentence for the client']),
  ])
}

export const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

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
