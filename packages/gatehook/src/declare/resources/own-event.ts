/**
 * `event('invoice.overdue', invoices)` and `event('report.ready', fields({…}), { scope })`: events
 * of own code, and typed ones of other backends (§15.3). Contains no database access.
 */

import { Failure } from '../../kernel/failure.ts'
import { findUnknownMembers, reportMistakes } from '../../protocol/fields/declaration-mistakes.ts'
import { EVENT_TEXT_MAX, exceedsEvents } from '../../protocol/fields/event-texts.ts'
import { Field, type Fields } from '../../protocol/fields/fields.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import { containsSecret } from '../../protocol/fields/secret-names.ts'
import { BodyFields } from './body-fields.ts'
import { bodyFormIn, fieldSpecsOf } from './body-versions.ts'
import { declaredMembers } from './declared-members.ts'
import { memberReader } from './own-values.ts'
import { type AnyRow, Resource, type ResourceDefinition } from './resource.ts'
import { sampleMember } from './sample.ts'
import { createValidators, parseWire, replaceErrors, toWire } from './validate.ts'

// biome-ignore lint/suspicious/noExplicitAny: members of any older forms
type EventFields<M extends Fields> = BodyFields<M, any>

/** An event without its type parameters. */
export interface OwnEventDefinition {
  readonly type: string
  /** The resource whose rows are the objects. */
  readonly resource: ResourceDefinition | undefined
  /** The members of the object, if it is no row. */
  readonly fields: EventFields<Fields> | undefined
  /** The scope that reads it; undefined: that of the rows, or `events:read`. */
  readonly scope: string | undefined
}

/** An event of own code. */
class OwnEvent {
  readonly definition: OwnEventDefinition

  constructor(definition: OwnEventDefinition) {
    this.definition = definition
  }
}

/** An event whose object is a row. */
export class RowEvent<F extends Fields, T extends string = string> extends OwnEvent {
  declare readonly row: F
  declare readonly type: T
}

/** An event whose object has members of its own. */
export class ObjectEvent<M extends Fields, T extends string = string> extends OwnEvent {
  declare readonly members: M
  declare readonly type: T
}

export interface EventOptions {
  /** The scope that reads the event. Default: `events:read`. */
  readonly scope?: string
}

/**
 * Declares an event that own code emits: `tx.emit(overdue, id)`. Its object is a row of a resource,
 * or has fields of its own.
 *
 * @example
 * const overdue = event('invoice.overdue', invoices)
 * const ready = event('report.ready', fields({ url: f.url() }), { scope: 'reports:read' })
 */
export function event<const T extends string, F extends Fields>(
  type: T,
  // biome-ignore lint/suspicious/noExplicitAny: a resource of any shape
  rows: Resource<F, any, any>,
): RowEvent<F, T>
export function event<const T extends string, const M extends Fields>(
  type: T,
  object: EventFields<M>,
  options?: EventOptions,
): ObjectEvent<M, T>
export function event(type: string, object: unknown, options: EventOptions = {}): OwnEvent {
  const mistakes = findUnknownMembers(options, declaredMembers.event)
  if (object instanceof Resource) {
    if (options?.scope !== undefined) mistakes.push('scope: that of the resource reads its rows')
  } else if (!(object instanceof BodyFields)) {
    mistakes.push('the second argument is a resource, or fields({…})')
  } else mistakes.push(...fieldsMistakes(object))
  reportMistakes(mistakes.map((mistake) => `event ${String(type)}: ${mistake}`))
  const definition: OwnEventDefinition = {
    type: String(type),
    resource: object instanceof Resource ? object.definition : undefined,
    fields: object instanceof BodyFields ? object : undefined,
    scope: options?.scope,
  }
  return object instanceof Resource ? new RowEvent(definition) : new ObjectEvent(definition)
}

/** Stored events of an older version are read in the newest one, too. */
function fieldsMistakes({ members, changes }: BodyFields<Fields>): string[] {
  const forms = [members, ...changes.map(({ had }) => had)]
  const isField = (member: unknown) => member instanceof Field && !containsSecret(member.spec)
  const wrong = forms.flatMap((form) =>
    Object.entries(form)
      .filter(([, member]) => !isField(member))
      .map(([name]) => `${name} is a field that is not secret`),
  )
  const oneWay = changes
    .filter(({ up, down }) => !up || !down)
    .map(({ version }) => `.before('${version}'): up and down are required`)
  const long = forms.flatMap((form) =>
    Object.entries(form)
      .filter(([, member]) => member instanceof Field && exceedsEvents(member.spec))
      .map(([name]) => `${name}: texts of events have at most ${EVENT_TEXT_MAX} characters`),
  )
  return [...wrong, ...oneWay, ...long]
}

export const isOwnEvent = (value: unknown): value is OwnEvent => value instanceof OwnEvent

export type { OwnEvent }

/** The parts of a service that declare events of own code. */
interface ObjectSources {
  readonly events: readonly OwnEventDefinition[]
  readonly externalEvents: readonly { readonly event?: OwnEventDefinition | undefined }[]
}

/** Validates and converts the objects of one event type. */
export interface ObjectForms {
  /** Validates an object of own code, and returns JSON text. Throws: a bug of the code. */
  write(values: AnyRow): string
  /** Validates JSON of a caller in a version, and returns JSON text of the newest. */
  read(object: unknown, version: string): string
  /** Returns a sample object in a version. */
  sample(version: string): AnyRow
  /** Returns the names of the members in a version. */
  namesIn(version: string): readonly string[]
  /** Converts JSON text between versions. */
  convert(text: string, from: string, to: string): string
  /** The members in the newest version. */
  readonly specs: FieldSpecs
}

/** Returns the forms of the events whose objects have fields, by type. */
export function createObjectForms(
  { events, externalEvents }: ObjectSources,
  versions: readonly string[],
): ReadonlyMap<string, ObjectForms> {
  const all = [...events, ...externalEvents.flatMap(({ event }) => event ?? [])]
  return new Map(
    all.flatMap(({ type, fields }) => (fields ? [[type, formsOf(type, fields, versions)]] : [])),
  )
}

function formsOf(
  type: string,
  fields: EventFields<Fields>,
  versions: readonly string[],
): ObjectForms {
  const forms = new Map(
    versions.map((version) => {
      const { members, chain } = bodyFormIn(fields, versions, version)
      const specs = fieldSpecsOf(members)
      return [version, { specs, chain, validate: createValidators(specs).create }]
    }),
  )
  const newest = forms.get(versions.at(-1)!)!
  const readMembers = memberReader(newest.specs)
  const textOf = (values: AnyRow) => JSON.stringify(toWire(newest.specs, values))
  return {
    specs: newest.specs,
    write: (values) => textOf(readMembers(`tx.emit(${type})`, values ?? {})),
    read(object, version) {
      const { chain, validate } = forms.get(version) ?? newest
      try {
        return textOf(chain.up(validate(object)))
      } catch (error) {
        if (!(error instanceof Failure) || !error.errors) throw error
        const inside = (pointer = '') => `/object${pointer}`
        throw replaceErrors(
          error,
          error.errors.map((mistake) => ({ ...mistake, pointer: inside(mistake.pointer) })),
        )
      }
    },
    sample(version) {
      const { specs } = forms.get(version) ?? newest
      const entries = Object.entries(specs)
      return Object.fromEntries(entries.map(([name, spec]) => [name, sampleMember(name, spec)]))
    },
    namesIn: (version) => Object.keys(forms.get(version)!.specs),
    convert(text, from, to) {
      const [source, target] = [forms.get(from), forms.get(to)]
      if (!source || !target || (source.chain.isEmpty && target.chain.isEmpty)) return text
      const row = source.chain.up(parseWire(source.specs, JSON.parse(text) as AnyRow))
      return JSON.stringify(toWire(target.specs, target.chain.down(row)))
    },
  }
}
