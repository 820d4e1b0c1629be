/** Checks a declared field, and names mistakes in a declaration. Pure. */

import { prefixMistake } from '../../kernel/row-id.ts'
import { DeclarationError } from '../../protocol/fields/declaration-mistakes.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { ENGINE_PREFIX, FOLDED_FIELD_MAX } from '../../protocol/fields/folding.ts'
import { isSameValue, toJson } from '../../protocol/fields/forms.ts'
import { findNotJson, isSentence } from '../../protocol/fields/json-value.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import { createObjectReader } from '../../protocol/fields/reader.ts'
import { INNER_REFERENCES_MAX, ITEMS, innerReferencesOf } from './inner-references.ts'
import { findTakenName } from './sql-words.ts'

/** The maximum `.max()` of `f.string()`, and of other texts and of JSON, in characters. */
const STRING_MAX = 1_048_576
const TEXT_MAX = 65_536

/** The field that actions change (`from`, `to`). */
export const STATE_FIELD = 'status'

/** Throws the first mistake of its kind. */
type FieldRule = (field: {
  readonly name: string
  readonly spec: FieldSpec
  /** 1 for a field, more for a value inside another. */
  readonly depth: number
  /** Whether it is a column; members of bodies and of older versions are none. */
  readonly isColumn: boolean
  readonly mistake: (why: string) => DeclarationError
}) => void

const fieldRules: readonly FieldRule[] = [
  ({ name, spec, isColumn, mistake }) => {
    if (!/^[a-z][a-z0-9_]{0,62}$/.test(name))
      throw mistake('names are snake_case, at most 63 characters')
    const taken = findTakenName(name, isColumn)
    if (taken !== undefined) throw mistake(taken)
    if (!isColumn) return
    if (name === 'scope') throw mistake('"scope" is the engine\'s own column; choose another name')
    if (name.startsWith(ENGINE_PREFIX))
      throw mistake(`"${ENGINE_PREFIX}" begins the engine's own columns; choose another name`)
    if (fieldKindOf(spec).isFolded && name.length > FOLDED_FIELD_MAX)
      throw mistake(`the name of an f.${spec.kind}() has at most ${FOLDED_FIELD_MAX} characters`)
  },
  ({ spec, mistake }) => {
    const { hasBounds, isText, isAnyJson, amount } = fieldKindOf(spec)
    if (!hasBounds && (spec.min !== undefined || spec.max !== undefined)) {
      throw mistake(`${spec.kind} takes no min or max`)
    }
    checkBounds(spec, mistake)
    // Without an amount, the bounds are lengths, times or ids.
    if (amount === undefined && (spec.max ?? 1) < 1)
      throw mistake('max is at least 1: no other value than an empty one is below it')
    const most = spec.kind === 'string' ? STRING_MAX : TEXT_MAX
    if ((isText || isAnyJson) && (spec.max ?? 0) > most)
      throw mistake(`max is at most ${most}; keep longer texts elsewhere, and store an f.url()`)
    if (spec.min !== undefined && spec.max !== undefined && spec.min > spec.max) {
      throw mistake('min is above max')
    }
  },
  ({ name, spec, depth }) => checkNested(name, spec, depth),
  ({ spec, mistake }) => spec.idPrefix !== undefined && checkPrefix(spec, mistake),
  ({ spec, mistake }) => {
    const why = fieldKindOf(spec).findMistake?.(spec)
    if (why !== undefined) throw mistake(why)
  },
  ({ spec, mistake }) => spec.unit !== undefined && checkUnit(spec, mistake),
  ({ spec, mistake }) => {
    if (spec.kind === 'id' && spec.nullable) throw mistake('an id is never null')
  },
  ({ name, spec, depth, mistake }) => checkRights(name, spec, depth, mistake),
  ({ name, spec, mistake }) => checkComputed(name, spec, mistake),
  ({ spec, mistake }) => spec.derived !== undefined && checkDerived(spec, mistake),
  ({ spec, mistake }) => {
    if (spec.isWriteOnce && spec.write === 'never')
      throw mistake('clients never write it, not once')
  },
  ({ spec, mistake }) => {
    if (spec.default === null && !spec.nullable)
      throw mistake('the default is null; add .nullable()')
    checkDefault(spec, mistake)
  },
  ({ spec, mistake }) => {
    if (spec.values && new Set(spec.values).size < spec.values.length) {
      throw mistake('a value occurs twice')
    }
  },
  ({ spec, mistake }) => {
    if (spec.owner && spec.kind !== 'ref') throw mistake('.owner() goes with f.ref(…)')
  },
  ({ spec, depth, mistake }) => {
    if (!spec.isPersonal) return
    if (depth > 1) throw mistake('.personal() goes with the whole field')
    if (spec.kind === 'id' || spec.kind === 'ref') {
      throw mistake('.personal() goes with the fields of the row that it refers to')
    }
    // An erased row needs a value that no other row has.
    if (spec.unique && !spec.nullable && !fieldKindOf(spec).numbered) {
      throw mistake('.personal() of a unique field goes with .nullable(), or with a text')
    }
  },
  ({ spec, mistake }) => spec.onDelete !== undefined && checkDeletion(spec, mistake),
  ({ spec, mistake }) => {
    if (Object.hasOwn(spec, 'description') && !isSentence(spec.description))
      throw mistake('.describe() is a sentence of at most 2,000 characters')
  },
]

/** Returns a sentence for the developer per mistake of a field. */
export function findFieldMistakes(
  name: string,
  spec: FieldSpec,
  { depth = 1, isColumn = false } = {},
): string[] {
  const mistake = (why: string) => new DeclarationError(`field ${name}: ${why}`)
  const mistakes: string[] = []
  for (const check of fieldRules) {
    try {
      check({ name, spec, depth, isColumn, mistake })
    } catch (error) {
      if (error instanceof DeclarationError) mistakes.push(...error.message.split('\n'))
      // A value without a form was reported before.
      else if (mistakes.length === 0) throw error
    }
  }
  return mistakes
}

function checkPrefix(
  { kind, idPrefix, target, min, max }: FieldSpec,
  mistake: (why: string) => DeclarationError,
): void {
  const problem = prefixMistake(idPrefix)
  const call = kind === 'id' ? `f.id('${idPrefix}')` : `f.ref('${target}', '${idPrefix}')`
  if (problem !== undefined) throw mistake(`${call} ${problem}`)
  if (min !== undefined || max !== undefined) throw mistake(`${call} takes no min or max`)
}

function checkComputed(
  name: string,
  { computed, write, kind, stamp, unique }: FieldSpec,
  mistake: (why: string) => DeclarationError,
): void {
  if (computed === undefined) return
  if (write !== 'never' || stamp) throw mistake('.stored() goes with f.computed(…)')
  if (kind === 'id' || kind === 'ref') throw mistake('an id or a reference is not computed')
  if (name === STATE_FIELD) throw mistake('actions set the state, so that it is not computed')
  if (computed === 'read' && unique) throw mistake('add .stored() to be unique')
}

const EXPRESSION_MAX = 1_000

function checkDerived(spec: FieldSpec, mistake: (why: string) => DeclarationError): void {
  const { computed, derived, unique, default: fallback } = spec
  const { isFolded, json } = fieldKindOf(spec)
  if (computed !== 'derived') throw mistake('a derived field is no column: remove .stored()')
  if (isFolded || json === 'any') throw mistake(`f.derived() has no ${spec.kind}`)
  if (unique || fallback !== undefined)
    throw mistake('f.derived() is not unique and has no default')
  const texts: Readonly<Record<string, unknown>> = {
    sqlite: derived?.sqlite,
    postgres: derived?.postgres,
  }
  for (const [database, text] of Object.entries(texts)) {
    if (typeof text !== 'string' || text.trim() === '' || text.length > EXPRESSION_MAX) {
      throw mistake(`f.derived() needs SQL of 1 to ${EXPRESSION_MAX} characters for ${database}`)
    }
    if (/[?$;"@]|--|\/\*/.test(text)) {
      throw mistake('f.derived() is one expression: without ? $ ; " @ and comments')
    }
  }
}

/** Validates `.visible()`, `.writable()` and `.writeOnly()`. Their scopes are validated later. */
/** A field without a numeric bound would accept values of any size. */
function checkBounds(spec: FieldSpec, mistake: (why: string) => DeclarationError): void {
  const isNumber = fieldKindOf(spec).amount === 'fraction'
  for (const bound of ['min', 'max'] as const) {
    if (!Object.hasOwn(spec, bound)) continue
    const value: unknown = spec[bound]
    if (!Number.isFinite(value)) throw mistake(`.${bound}() is a number`)
    if (!isNumber && !Number.isInteger(value)) throw mistake(`.${bound}() is an integer`)
  }
  const texts: readonly unknown[] | undefined = spec.values
  if (texts && (texts.length === 0 || !texts.every((text) => typeof text === 'string'))) {
    throw mistake("f.oneOf() has texts: f.oneOf(['open', 'shut'])")
  }
}

function checkRights(
  name: string,
  spec: FieldSpec,
  depth: number,
  mistake: (why: string) => DeclarationError,
): void {
  const { visibleTo, writableBy, isWriteOnly, kind, write } = spec
  // Without a scope the field would be open to every caller.
  if (Object.hasOwn(spec, 'visibleTo') && typeof visibleTo !== 'string') {
    throw mistake('.visible() requires a scope')
  }
  if (Object.hasOwn(spec, 'writableBy') && typeof writableBy !== 'string') {
    throw mistake('.writable() requires a scope')
  }
  const isHidden = visibleTo !== undefined || isWriteOnly === true
  if (!isHidden && writableBy === undefined) return
  if (depth > 1) throw mistake('a value inside another has the rights of its field')
  if (kind === 'id') throw mistake('every response has the id')
  if (isHidden && name === STATE_FIELD) throw mistake('errors of actions name the state')
  if (isWriteOnly && visibleTo !== undefined)
    throw mistake('is write-only, so that no caller sees it')
  if (write === 'never' && (isWriteOnly || writableBy !== undefined)) {
    throw mistake('clients never write it')
  }
}

const UNIT_MAX = 30

function checkUnit(spec: FieldSpec, mistake: (why: string) => DeclarationError): void {
  const { unit } = spec
  if (fieldKindOf(spec).amount === undefined)
    throw mistake('.unit() goes with a number or a decimal')
  const isWord = isSentence(unit) && /^\S(.*\S)?$/.test(unit)
  if (!isWord || unit.length > UNIT_MAX)
    throw mistake(`.unit() is a text of 1 to ${UNIT_MAX} characters`)
}

const DELETION_EFFECTS = ['restrict', 'cascade', 'setNull']

function checkDeletion(
  { kind, nullable, onDelete }: FieldSpec,
  mistake: (why: string) => DeclarationError,
): void {
  if (kind !== 'ref') throw mistake('.onDelete() goes with f.ref(…)')
  if (!DELETION_EFFECTS.includes(onDelete!)) {
    throw mistake(`.onDelete() is ${DELETION_EFFECTS.join(', ')}`)
  }
  if (onDelete === 'setNull' && !nullable) throw mistake(".onDelete('setNull') needs .nullable()")
}

/** The levels of objects and arrays in a field. */
const DEPTH_MAX = 8

/** Validates the members of an object, and the items of an array. They are values, not columns. */
function checkNested(name: string, spec: FieldSpec, depth: number): void {
  const mistake = (why: string) => new DeclarationError(`field ${name}: ${why}`)
  if (depth > DEPTH_MAX) throw mistake(`is nested deeper than ${DEPTH_MAX} levels`)
  const isColumn =
    spec.unique || spec.owner || spec.stamp || spec.isWriteOnce || spec.write === 'never'
  if (depth > 1 && (isColumn || spec.kind === 'id')) {
    throw mistake('a value inside another is no id, owner, unique, write-once or read-only')
  }
  const { json, isMap } = fieldKindOf(spec)
  if (json === 'any' && spec.unique) throw mistake('cannot be unique')
  if (depth === 1) checkInnerReferences(name, spec, mistake)
  const members = { ...spec.members, ...(spec.items && !isMap && { item: spec.items }) }
  const inner = Object.entries(members).flatMap(([member, of]) =>
    findFieldMistakes(member, of as FieldSpec, { depth: depth + 1 }),
  )
  if (inner.length > 0) {
    throw new DeclarationError(inner.map((why) => mistake(why).message).join('\n'))
  }
}

/** Validates the references inside a value. Its other parts stay when a row is deleted (§15.9). */
function checkInnerReferences(
  name: string,
  spec: FieldSpec,
  mistake: (why: string) => DeclarationError,
): void {
  for (const { path, steps, spec: reference, most } of innerReferencesOf({ [name]: spec })) {
    if (spec.computed) throw mistake('a reference is not computed')
    if (reference.onDelete === 'cascade') {
      throw mistake(`${path} is inside a value: .onDelete() is restrict or setNull`)
    }
    if (reference.onDelete === 'setNull' && steps.at(-1) === ITEMS) {
      throw mistake(`${path}: .onDelete('setNull') clears a member of an object, not an item`)
    }
    if (most > INNER_REFERENCES_MAX) {
      throw mistake(
        `${path} has up to ${most} references; a field has at most ${INNER_REFERENCES_MAX}`,
      )
    }
  }
}

/** Validates the default, which has the form of a value that was read. */
function checkDefault(spec: FieldSpec, mistake: (why: string) => DeclarationError): void {
  const { default: value, ...rest } = spec
  if (!Object.hasOwn(spec, 'default')) return
  const { findMistake, hasFreeDefault } = fieldKindOf(spec)
  if (findMistake?.(spec) !== undefined) return // reported with the kind
  const why = findNotJson(value)
  if (why !== undefined) throw mistake(`the default ${why}`)
  if (hasFreeDefault) return
  const read = createObjectReader({ members: { it: rest } })
  const { values, errors } = read({ it: toJson(spec, value) })
  if (errors[0]) throw mistake(`the default ${errors[0].message}`)
  if (!isSameValue(values.it, value)) {
    throw mistake(`write the default as ${JSON.stringify(values.it)}`)
  }
}
