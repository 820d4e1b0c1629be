/**
 * Mistakes in a declaration. A call with a mistake throws; while a file is loaded that declares a
 * service, the mistakes of all calls are collected instead, so that one start reports them all.
 */
import { findClosest } from '../../kernel/closest.ts'

/** A mistake in a declaration. The developer sees it at start; callers never do. */
export class DeclarationError extends Error {}

/** A sentence for the developer, and the call that declared the part, for its file and line. */
export interface DeclarationMistake {
  readonly sentence: string
  /** Default: the present call. */
  readonly site: Error | undefined
}

/** The mistakes by sentence: a service is validated again at each call of its chain. */
let collection: Map<string, DeclarationError> | undefined

/**
 * Reports the mistakes of a call. Throws `DeclarationError` with all of them, unless mistakes are
 * collected: the caller then continues with the valid parts.
 */
export function reportMistakes(mistakes: readonly (string | DeclarationMistake)[]): void {
  if (mistakes.length === 0) return
  const errors = mistakes.map((mistake) => {
    if (typeof mistake === 'string') return new DeclarationError(mistake)
    const error = new DeclarationError(mistake.sentence)
    if (mistake.site?.stack !== undefined) error.stack = mistake.site.stack
    return error
  })
  if (!collection) throw new DeclarationError(errors.map(({ message }) => message).join('\n'))
  for (const error of errors) {
    if (!collection.has(error.message)) collection.set(error.message, error)
  }
}

/** Runs part of a declaration. Reports its `DeclarationError` and returns `otherwise`. */
export function declareOr<T>(otherwise: () => T, declare: () => T): T {
  if (!collection) return declare()
  try {
    return declare()
  } catch (error) {
    if (!(error instanceof DeclarationError)) throw error
    reportMistakes(error.message.split('\n').map((sentence) => ({ sentence, site: error })))
    return otherwise()
  }
}

/**
 * Runs a check of the whole. A check of a declaration with mistakes may meet parts without a form:
 * its exception is then a consequence of them.
 */
export function checkWhole(check: () => readonly string[]): readonly string[] {
  try {
    return check()
  } catch (error) {
    if (!collection || collection.size === 0) throw error
    return []
  }
}

interface Collected<T> {
  readonly value: T | undefined
  readonly errors: readonly unknown[]
}

/** The last collection that began: there is one at a time. */
let last: Promise<unknown> = Promise.resolve()

/** Loads code that declares a service. Returns what `load` returns or throws, and all mistakes. */
export function collectMistakes<T>(load: () => Promise<T>): Promise<Collected<T>> {
  const collected = last.then(() => collect(load))
  last = collected
  return collected
}

async function collect<T>(load: () => Promise<T>): Promise<Collected<T>> {
  const mistakes = new Map<string, DeclarationError>()
  collection = mistakes
  try {
    const value = await load()
    return { value, errors: [...mistakes.values()] }
  } catch (error) {
    return { value: undefined, errors: [...mistakes.values(), error] }
  } finally {
    collection = undefined
  }
}

/** The members of a declared object: each is a value, or an object (or a list of such). */
export interface Shape {
  readonly [member: string]: true | Shape
}

/** Requires a `Shape` to have exactly the members of an interface. */
export type ShapeOf<T> = { readonly [K in keyof T & string]-?: true | Shape }

/** Returns a sentence per member of a declared object that its shape lacks. */
export function findUnknownMembers(value: unknown, shape: Shape, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => findUnknownMembers(item, shape, path))
  if (!isPlainObject(value)) return []
  return Object.entries(value).flatMap(([name, member]) => {
    if (!Object.hasOwn(shape, name)) {
      return [`there is no member ${path}${name}${advice(name, shape, path)}`]
    }
    const inner = shape[name]!
    return inner === true ? [] : findUnknownMembers(member, inner, `${path}${name}.`)
  })
}

/** Returns each name of a list that occurs before in it. */
export const duplicatesIn = (names: readonly string[]): string[] =>
  names.filter((name, index) => names.indexOf(name) < index)

/** Reports members of options that their shape lacks. */
export const reportUnknown = (call: string, options: unknown, shape: Shape): void =>
  reportMistakes(findUnknownMembers(options, shape).map((mistake) => `${call}: ${mistake}`))

const isPlainObject = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  [Object.prototype, null].includes(Object.getPrototypeOf(value))

/** The letters from which on the beginning of a name identifies it. */
const BEGINNING_MIN = 3

function advice(name: string, shape: Shape, path: string): string {
  const names = Object.keys(shape)
  const closest = findClosest(name, names) ?? namesBeginningWith(name, names)
  const inner = names.flatMap((member) => {
    const members = shape[member]
    if (members === true) return []
    const nearest = findClosest(name, Object.keys(members!))
    return nearest === undefined ? [] : [`${member}.${nearest}`]
  })[0]
  const meant = closest ?? inner
  return meant === undefined
    ? `; the members are ${names.map((other) => path + other).join(', ')}`
    : `; did you mean ${path}${meant}?`
}

function namesBeginningWith(beginning: string, names: readonly string[]): string | undefined {
  if (beginning.length < BEGINNING_MIN) return undefined
  return names.find((name) => name.toLowerCase().startsWith(beginning.toLowerCase()))
}
