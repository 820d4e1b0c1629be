/**
 * The failures that operations list in `failures`: codes of the engine, and those of the team by
 * `failure(…)` (`failure.ts`). Pure.
 */
import {
  type AnyCode,
  type Failure,
  type FailureCode,
  type FieldError,
  failures,
  type OwnCode,
} from '../../kernel/failure.ts'
import type { CreateOf, Fields } from '../../protocol/fields/fields.ts'

/** Is `fields({…}).before(…)`, of which a failure needs these parts. */
export interface DetailFields {
  readonly members: Fields
  readonly changes: readonly { readonly version: string }[]
}

export const OWN_STATUSES = [400, 402, 403, 404, 409, 410, 422, 424, 502, 503, 504] as const
export type OwnStatus = (typeof OWN_STATUSES)[number]

/** A declared failure without its type parameters. */
export interface FailureDefinition {
  readonly code: OwnCode
  readonly status: OwnStatus
  readonly message: string
  readonly details: DetailFields | undefined
}

/** A failure that an operation answers: a code of the engine, or one of the team. */
export type ListedFailure = FailureCode | FailureDefinition

/** One entry of `failures` of a route, an action or a rule. */
// biome-ignore lint/suspicious/noExplicitAny: the type of any declared failure
export type AnyFailure = FailureCode | DeclaredFailure<any, any>

interface OwnFieldError extends Omit<FieldError, 'code'> {
  // biome-ignore lint/suspicious/noExplicitAny: the type of any declared failure
  readonly code: FieldError['code'] | DeclaredFailure<any, any>
}

interface ThrownParts {
  /** Default: the declared message. */
  readonly message?: string
  /** Mistakes with their positions; a code may be a declared failure. */
  readonly errors?: readonly OwnFieldError[]
}

declare const failureType: unique symbol

/** Creates the failure: `throw exceeded({ details: { due } })`. */
export interface DeclaredFailure<C extends string, M extends Fields> {
  (
    ...args: [keyof M] extends [never]
      ? [parts?: ThrownParts]
      : [parts: ThrownParts & { readonly details: CreateOf<M> }]
  ): Failure
  readonly code: C & OwnCode
  readonly definition: FailureDefinition
  readonly [failureType]?: Readonly<Record<C, M>>
}

/** The fields of the details of listed failures, by code. */
export type DetailsOf<X> = {
  // biome-ignore lint/suspicious/noExplicitAny: details of any fields
  readonly [D in X as D extends DeclaredFailure<infer C, any> ? C : never]: D extends {
    readonly [failureType]?: Readonly<Record<string, infer M>>
  }
    ? M
    : never
}

/** Returns the entries of `failures`, without what plain JavaScript passes instead. */
export const readFailures = (entries: unknown): ListedFailure[] =>
  Array.isArray(entries) ? entries.flatMap((entry) => listedFailure(entry) ?? []) : []

const listedFailure = (entry: unknown): ListedFailure | undefined => {
  if (typeof entry === 'function') return (entry as { definition?: FailureDefinition }).definition
  return Object.hasOwn(failures, String(entry)) ? (entry as FailureCode) : undefined
}

/** Returns a sentence for the developer per mistake in `failures`. */
export function findListedMistakes(entries: unknown): string[] {
  if (entries === undefined) return []
  if (!Array.isArray(entries)) return ["failures is an array: [exceeded, 'conflict']"]
  return entries
    .filter((entry) => listedFailure(entry) === undefined)
    .map((entry) => `failures: there is no code ${String(entry)}; declare it with failure(…)`)
}

export const codeOf = (listed: ListedFailure): AnyCode =>
  typeof listed === 'string' ? listed : listed.code

export const statusOf = (listed: ListedFailure) =>
  typeof listed === 'string' ? failures[listed][0] : listed.status

/** The parts of a service that list failures. */
interface FailureLists {
  readonly routes: readonly { readonly failures?: readonly ListedFailure[] }[]
  readonly resources: readonly {
    readonly actions: readonly { readonly failures: readonly ListedFailure[] }[]
    readonly rules: readonly { readonly failures: readonly ListedFailure[] }[]
  }[]
}

/** Returns the declared failures that the operations of a service answer, each once. */
export function ownFailuresOf({ routes, resources }: FailureLists): FailureDefinition[] {
  const lists = [...routes, ...resources.flatMap(({ actions, rules }) => [...actions, ...rules])]
  const listed = lists.flatMap((list) => list.failures ?? [])
  return [...new Set(listed)].filter((entry) => typeof entry !== 'string')
}

/** Reports codes that two declarations have. */
export function findRepeatedCodes(service: FailureLists): string[] {
  const codes = ownFailuresOf(service).map(({ code }) => code)
  return codes
    .filter((code, n) => codes.indexOf(code) < n)
    .map((code) => `failure ${code}: is declared twice; export one declaration`)
}
