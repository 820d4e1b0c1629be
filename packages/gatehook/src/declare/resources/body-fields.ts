/**
 * `fields({…}).before('v2', {…})`: the members of a route's query, input or output, and the changes
 * between their versions (§8.8). Pure.
 */

import { findUnknownMembers, reportMistakes } from '../../protocol/fields/declaration-mistakes.ts'
import { type AnyField, Field, type Fields, type RowOf } from '../../protocol/fields/fields.ts'
import type { FieldWrite } from '../../protocol/fields/spec.ts'
import type { BodyConversion } from './action.ts'
import { declaredMembers } from './declared-members.ts'
import { type AnyResource, Resource } from './resource.ts'
import type { Omitted } from './resource-options.ts'

/** The members of a JSON response: fields, rows of a resource, and lists of either. */
export type OutputMembers = Readonly<Record<string, OutputMember>>
type OutputMember = AnyField | AnyResource | readonly [AnyField | AnyResource]

declare const isShown: unique symbol

/** A row as JSON has it, in the caller's version. */
export interface ShownRow {
  readonly [isShown]: true
  readonly [name: string]: unknown
}

export type RowBody<F extends Fields> = RowOf<F> | ShownRow

type MemberBody<M> =
  M extends Field<infer V, FieldWrite, infer _>
    ? V
    : M extends readonly [infer I]
      ? readonly MemberBody<I>[]
      : M extends Resource<infer F, infer _, infer _W>
        ? RowBody<F>
        : never

/** The values of members. */
export type MemberValues<M> = { readonly [K in keyof M]: MemberBody<M[K]> }

type OlderBody<S, Had, K> = {
  [P in keyof (Omitted<S, K> & MemberValues<Had>)]: (Omitted<S, K> & MemberValues<Had>)[P]
}

/** A breaking change of a query, an input or an output. */
export interface BodyChangeOptions<S, Had extends OutputMembers, K extends keyof S & string> {
  /** The reason, for the changelog. */
  readonly why: string
  /** The members of the older version that `hadNot` replaces. */
  readonly had: Had
  /** The members of the newer version that the older one lacks, in the order of their sources. */
  readonly hadNot: readonly K[]
  /** Converts a query or an input of the older version to `hadNot`. An output has none. */
  readonly up?: (old: OlderBody<S, Had, K>) => Pick<S, NoInfer<K>>
  /** Converts an output of the newer version to the members in `had`. An input has none. */
  readonly down?: (body: S) => MemberValues<Had>
  /** The members with a new name only, for the pointers of errors. */
  readonly renamed?: Readonly<Partial<Record<keyof Had & string, K>>>
}

export type BodyChange = BodyConversion<OutputMember>

/**
 * Members under declaration. `S` is the shape of the oldest version declared so far: each
 * `.before()` applies to the result of the previous one, newest change first.
 */
export class BodyFields<M extends OutputMembers, S = MemberValues<M>> {
  readonly members: M
  readonly changes: readonly BodyChange[]
  declare readonly shape: S

  constructor(members: M, changes: readonly BodyChange[] = []) {
    this.members = members
    this.changes = changes
  }

  /** Adds a breaking change of `version`. Callers of older versions are served through it. */
  before<const Had extends OutputMembers, K extends keyof S & string>(
    version: string,
    change: BodyChangeOptions<S, Had, K>,
  ): BodyFields<M, OlderBody<S, Had, K>> {
    checkChange(version, { ...change })
    const { why, had, hadNot, up, down, renamed = {} } = change ?? {}
    const entry = { version, why, had, hadNot, up, down, renamed } as unknown as BodyChange
    return new BodyFields<M, OlderBody<S, Had, K>>(this.members, [...this.changes, entry])
  }
}

/** Reports members that are neither a field, a resource, nor a list of one. */
export const findMemberMistakes = (members: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(members).flatMap(([name, member]) => {
    const items: readonly unknown[] = Array.isArray(member) ? member : [member]
    const [item] = items
    const isMember = item instanceof Field || item instanceof Resource
    return items.length === 1 && isMember
      ? []
      : [`${name} is a field, a resource, or a list of one: [f.string()] or [f.object({…})]`]
  })

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Reports the mistakes of a call. */
const report = (call: string, mistakes: readonly string[]): void =>
  reportMistakes(mistakes.map((mistake) => `${call}: ${mistake}`))

function checkChange(version: string, change: Readonly<Record<string, unknown>>): void {
  const { why, had, hadNot, up, down } = change
  const conversions = Object.entries({ up, down })
  report(`.before('${version}')`, [
    ...findUnknownMembers(change, declaredMembers.before),
    ...(typeof why === 'string' && why !== '' ? [] : ['why is required, for the changelog']),
    ...(isObject(had) ? findMemberMistakes(had) : ['had is an object of fields']),
    ...(Array.isArray(hadNot) ? [] : ['hadNot is an array of names']),
    ...conversions
      .filter(([, value]) => value !== undefined && typeof value !== 'function')
      .map(([name]) => `${name} is a function`),
  ])
}

// biome-ignore lint/suspicious/noExplicitAny: the type of any members
export type AnyBodyFields = BodyFields<any, any>

/**
 * Declares the members of a route's query, input or output, whose shape older versions have through
 * `.before()`. A query and an input consist of fields; an output also of rows.
 *
 * @example
 * input: fields({ weight_g: f.int() }).before('v2', {
 *   why: 'Weights are whole grams.',
 *   had: { weight_kg: f.number() },
 *   hadNot: ['weight_g'],
 *   up: (old) => ({ weight_g: Math.round(old.weight_kg * 1000) }),
 * })
 */
export function fields<const M extends OutputMembers>(members: M): BodyFields<M> {
  report('fields()', isObject(members) ? findMemberMistakes(members) : ['an object is required'])
  return new BodyFields(isObject(members) ? members : ({} as M))
}
