/** `f.object({…})`: an object with declared members. */
import {
  declareField,
  type Field,
  type InnerFields,
  type ObjectJson,
  type RowOf,
  specOf,
} from '../fields.ts'
import type { JsonSchema } from '../json-schema.ts'
import type { FieldKind, InnerSchemas, ValueForm } from '../kind.ts'
import { objectReader } from '../object-reader.ts'
import { createReader, isPlainObject, mistypedAs, type ReadValue } from '../reading.ts'
import type { MemberSpec, MemberSpecs } from '../spec.ts'
import { type JsonForm, jsonForm, jsonKind } from './json-kind.ts'

export const objectCall = {
  /**
   * An object with declared members: `f.object({ city: f.string(), zip: f.string().nullable() })`.
   * A patch changes the members that it has (RFC 7396).
   */
  object: <const M extends InnerFields>(members: M): Field<RowOf<M>, 'required', ObjectJson<M>> =>
    declareField('object', {
      members: mapMembers(members ?? {}, (_name, member) => specOf('f.object()', member)),
    }),
}

const mapMembers = <T, U>(
  members: Readonly<Record<string, T>>,
  change: (name: string, member: T) => U,
): Record<string, U> =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, change(name, member)]))

const membersOf = ({ members = {} }: MemberSpec): MemberSpecs => members

/** Adds the defaults of omitted members, and keeps the declared order. */
function withDefaults(members: MemberSpecs, read: ReadValue): ReadValue {
  const fallbacks = Object.entries(members).map(([name, spec]) => [name, spec.default] as const)
  if (fallbacks.every(([, value]) => value === undefined)) return read
  return (value, pointer, report) => {
    const values = read(value, pointer, report) as Readonly<Record<string, unknown>> | undefined
    if (values === undefined) return undefined
    const all = fallbacks.map(([name, fallback]) => [
      name,
      Object.hasOwn(values, name) ? values[name] : fallback,
    ])
    return Object.fromEntries(all.filter(([, member]) => member !== undefined))
  }
}

function membersSchema(members: MemberSpecs, inside: InnerSchemas): JsonSchema {
  const required = Object.entries(members).filter(([, { write }]) => write === 'required')
  return {
    type: 'object',
    required: required.map(([name]) => name),
    properties: mapMembers(members, (_name, spec) => inside.memberSchemaOf(spec)),
    ...(inside.isClosed && { additionalProperties: false }),
  }
}

const sameJson: JsonForm = { to: (value) => value, from: (json) => json }

/** Converts the members, and puts them into their declared order. */
function membersForm(spec: MemberSpec, inside: (spec: MemberSpec) => ValueForm): JsonForm {
  const forms = Object.entries(membersOf(spec)).map(
    ([name, member]) => [name, inside(member).json ?? sameJson] as const,
  )
  const convert = (direction: 'to' | 'from') => (value: unknown) => {
    if (!isPlainObject(value)) return value
    const converted: Record<string, unknown> = {}
    for (const [name, form] of forms) {
      const own = value[name]
      if (own !== undefined) converted[name] = own === null ? null : form[direction](own)
    }
    // Validation reports undeclared members.
    for (const name of Object.keys(value)) converted[name] ??= value[name]
    return converted
  }
  return { to: convert('to'), from: convert('from') }
}

export const object: FieldKind = {
  ...jsonKind,
  reader({ members, isOpen = false, nullable }, inside) {
    if (members) return withDefaults(members, objectReader({ members, isOpen }, nullable, inside))
    const mistyped = mistypedAs('an object', nullable)
    return createReader((value) => (isPlainObject(value) ? undefined : mistyped(value)))
  },
  schema({ members, isOpen }, inside) {
    if (!members) return { type: 'object' }
    const schema = membersSchema(members, inside)
    return isOpen ? { ...schema, additionalProperties: true } : schema
  },
  form: (spec, inside) => jsonForm(membersForm(spec, inside)),
  patch: (spec, inside) =>
    spec.members
      ? {
          ...spec,
          members: mapMembers(spec.members, (_name, { default: _default, ...member }) =>
            inside(member),
          ),
        }
      : spec,
  display: 'json',
  callCode: (spec, code) => {
    const members = mapMembers(membersOf(spec), (name, member) => `${name}: ${code.field(member)}`)
    return `{ ${Object.values(members).join(', ')} }`
  },
  sample: ({ spec, inside }) =>
    mapMembers(membersOf(spec), (name, member) =>
      member.default === undefined ? inside(name, member) : member.default,
    ),
  bounds: (spec, inside) =>
    [0, -1].map((index) =>
      mapMembers(membersOf(spec), (_name, member) => inside(member).at(index)),
    ),
}
