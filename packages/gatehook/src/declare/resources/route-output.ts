/**
 * The response of a route, by its declaration: encodes and validates the result of the handler, and
 * describes it for OpenAPI. A result that violates the declaration is a bug, so the request is 500
 * and its changes are rolled back.
 */
import { type AnyField, Field, type FieldSpec } from '../../protocol/fields/fields.ts'
import type { JsonSchema } from '../../protocol/fields/json-schema.ts'
import { createObjectReader } from '../../protocol/fields/reader.ts'
import { type FieldSpecs, valueSchema } from '../../protocol/fields/schema.ts'
import type { MemberSpec, MemberSpecs } from '../../protocol/fields/spec.ts'
import { type Answer, noContent } from '../../protocol/http/call.ts'
import { JSON_VALUES_MAX } from '../../protocol/http/json-body.ts'
import { sendParts } from '../../protocol/http/send-parts.ts'
import type { FieldLimits } from '../../protocol/idempotency/outcome.ts'
import { ref } from '../../protocol/openapi/parts.ts'
import type { OutputMembers } from './body-fields.ts'
import { type BodyForm, bodyFormIn, type DeclaredMembers } from './body-versions.ts'
import type { Catalog } from './catalog-entry.ts'
import { limitsOfRows } from './field-rights.ts'
import { isMedia, type MediaDeclaration, mediaTypesOf } from './media.ts'
import { annotateMember, schemaName } from './openapi-words.ts'
import { type AnyResource, type AnyRow, Resource, type ResourceDefinition } from './resource.ts'
import { type AnyResult, declaresResponse, type RouteDefinition, statusesOf } from './route.ts'
import type { RowViews } from './row-views.ts'
import { sampleMember } from './sample.ts'
import { toWire } from './validate.ts'

type EncodeBody = (body: unknown, views: RowViews, media?: string) => Omit<Answer, 'status'>
type EncodeMember = (value: unknown, views: RowViews) => string

/** Returns a function that converts the result of a route's handler to its response. */
export function createOutputEncoder(route: RouteDefinition, versions: readonly string[]) {
  const { method, path, output } = route
  const statuses = statusesOf(route)
  const isDeclared = declaresResponse(route)
  const headerNames = Object.keys(route.headers ?? {}).map((name) => name.toLowerCase())
  const encode = output
    ? bodyEncoder(route, output, versions)
    : isDeclared
      ? encodeNothing
      : encodeUndeclared
  const types = mediaTypesOf(output)
  const resultMembers: readonly string[] = types ? [...RESULT_MEMBERS, 'media'] : RESULT_MEMBERS
  const memberWords = types ? 'status, headers, media and body' : 'status, headers and body'
  const violated = `route ${method} ${path} violates its declaration`
  const violation = (mistake: string) => new Error(`${violated}: ${mistake}`)
  return (result: AnyResult | undefined, views: RowViews): Answer => {
    const unknown = Object.keys(result ?? {}).find((name) => !resultMembers.includes(name))
    if (unknown !== undefined) {
      throw violation(`the result has ${memberWords}, and no member ${unknown}`)
    }
    const { headers = {}, media, body } = result ?? {}
    const hasUndeclaredBody = !isDeclared && body !== undefined
    const status = result?.status ?? (hasUndeclaredBody ? 200 : statuses[0]!)
    if (isDeclared && !statuses.includes(status))
      throw violation(`status ${status} is not declared`)
    for (const name of Object.keys(headers)) {
      if (!headerNames.includes(name.toLowerCase())) {
        throw violation(`header ${name} is not declared`)
      }
    }
    try {
      const answer = encode(body, views, media)
      const location =
        status === 201 && output instanceof Resource && locationOf(output, body, views)
      const defaults = location ? { location } : {}
      return { ...answer, status, headers: { ...defaults, ...headers, ...answer.headers } }
    } catch (error) {
      throw new Error(violated, { cause: error }) // the log joins both messages
    }
  }
}

/** A type assertion can hide other members, which would not reach the caller. */
const RESULT_MEMBERS: readonly (keyof AnyResult)[] = ['status', 'headers', 'body']

/** Returns the path of a new row in the caller's version (§6.2). */
const locationOf = ({ definition }: AnyResource, row: unknown, { version }: RowViews): string =>
  `/api/${version}/${definition.name}/${(row as AnyRow).id}`

const encodeNothing: EncodeBody = (body) => {
  if (body !== undefined) throw new Error('it returns a body: declare it as output, or omit status')
  return noContent()
}

/** Encodes the body of a route that declares no response: its rows in the caller's version. */
const encodeUndeclared: EncodeBody = (body, views) => {
  if (body === undefined) return noContent()
  const showRow = (_: string, value: unknown) =>
    views.resourceOf(value) === undefined ? value : views.show(value as AnyRow)
  return { json: JSON.stringify(body, showRow) }
}

function bodyEncoder(
  { method }: RouteDefinition,
  output: NonNullable<RouteDefinition['output']>,
  versions: readonly string[],
): EncodeBody {
  if (isMedia(output)) return mediaEncoder(output, method === 'GET')
  if (output instanceof Resource) {
    const { definition } = output
    return (body, views) => ({ json: views.encode(definition, body) })
  }
  const members = output as DeclaredMembers
  const encoders = new Map(
    versions.map((version) => [version, membersEncoder(bodyFormIn(members, versions, version))]),
  )
  return (body, views) => encoders.get(views.version)!(body, views)
}

/** Encodes text and bytes. A change commits with its response, so only a read is a stream. */
function mediaEncoder({ media }: MediaDeclaration, isRead: boolean): EncodeBody {
  const types = [media].flat() as readonly string[]
  const vary = types.length > 1 && { vary: 'Accept' }
  return (body, _views, selected = typeof media === 'string' ? media : undefined) => {
    if (selected === undefined || !types.includes(selected)) {
      throw new Error(`its media is ${String(selected)}, and none of ${types.join(', ')}`)
    }
    const type = selected.startsWith('text/') ? `${selected}; charset=utf-8` : selected
    const headers = { 'content-type': type, ...vary }
    if (typeof body === 'string' || body instanceof Uint8Array) return { raw: body, headers }
    const parts = body as AsyncIterable<string> | undefined
    if (isRead && typeof parts?.[Symbol.asyncIterator] === 'function') {
      return { stream: (out) => sendParts(parts, out), headers }
    }
    const streams = isRead ? ', and no async iterable of text' : ''
    throw new Error(`the body is neither text nor bytes${streams}`)
  }
}

function membersEncoder({ members: output, chain }: BodyForm): EncodeBody {
  const names = Object.keys(output)
  const specs = memberSpecsOf(output)
  const read = createObjectReader({ members: specs })
  const rows = new Map<string, EncodeMember>()
  for (const [name, member] of Object.entries(output)) {
    const encode = rowEncoder(member)
    if (encode) rows.set(name, encode)
  }
  return (body, views) => {
    if (typeof body !== 'object' || body === null) throw new Error('the body is not an object')
    const values = chain.down(body as AnyRow)
    const wire = toWire(
      specs as FieldSpecs,
      Object.fromEntries(Object.entries(values).filter(([name]) => !rows.has(name))),
    )
    const [mistake] = read(wire).errors
    if (mistake) throw new Error(`${mistake.pointer} ${mistake.message}`)
    const members = names.map((name) => {
      const encode = rows.get(name)
      const text = encode ? encode(values[name], views) : JSON.stringify(wire[name])
      return `${JSON.stringify(name)}:${text}`
    })
    return { json: `{${members.join(',')}}` }
  }
}

/** Returns the encoder of a member that contains rows; undefined for a field. */
function rowEncoder(member: OutputMembers[string]): EncodeMember | undefined {
  if (member instanceof Resource) return (row, views) => views.encode(member.definition, row)
  const [item] = itemOf(member)
  if (!(item instanceof Resource)) return undefined
  const { definition } = item
  return (list, views) => {
    if (!Array.isArray(list)) throw new Error(`is not a list of ${definition.name}`)
    return `[${list.map((row) => views.encode(definition, row)).join(',')}]`
  }
}

/** Returns the item of a list; empty for another member. */
const itemOf = (member: OutputMembers[string]): readonly (AnyField | AnyResource)[] =>
  Array.isArray(member) ? member : []

/** Returns the fields of an output. A response contains each of them. */
export function memberSpecsOf(output: OutputMembers): MemberSpecs {
  const specs: Record<string, MemberSpec> = {}
  for (const [name, member] of Object.entries(output)) {
    const spec = fieldSpecOf(member)
    if (spec) specs[name] = { ...spec, write: 'required' }
  }
  return specs
}

/** Returns a field, or the list of a field's values; undefined for rows. */
function fieldSpecOf(member: OutputMembers[string]): MemberSpec | undefined {
  if (member instanceof Field) return member.spec
  const [item] = itemOf(member)
  if (!(item instanceof Field)) return undefined
  return { kind: 'list', items: item.spec, write: 'required', nullable: false }
}

/** Whether the body of an upstream may lack a member: many frameworks omit null. */
export const canBeAbsent = (spec: MemberSpec | undefined): boolean => spec?.nullable === true

const rowReference = ({ definition }: AnyResource): JsonSchema =>
  ref('schemas', schemaName(definition))

/** Objects in a list that an upstream returns; `JSON_VALUES_MAX` counts before. */
export const LIST_MAX = 10_000
const LIST_BOUNDS =
  `At most ${LIST_MAX.toLocaleString('en-US')} objects, and ` +
  `${JSON_VALUES_MAX.toLocaleString('en-US')} values in all: each object is one, and each of its ` +
  'members another.'

/** Returns the schema of a response; undefined without a JSON body. */
export function outputSchema(
  { output, forward }: RouteDefinition,
  versions: readonly string[],
  version: string,
): JsonSchema | undefined {
  if (!output || isMedia(output)) return undefined
  if (output instanceof Resource) return rowReference(output)
  const { members } = bodyFormIn(output as DeclaredMembers, versions, version)
  const properties = Object.entries(members).map(([name, member]) => [
    name,
    memberSchema(name, member),
  ])
  const required = Object.entries(members).filter(
    ([, member]) => !forward || !canBeAbsent(fieldSpecOf(member)),
  )
  const object: JsonSchema = {
    type: 'object',
    required: required.map(([name]) => name),
    properties: Object.fromEntries(properties),
  }
  if (!forward?.returnsList) return object
  return { description: LIST_BOUNDS, type: 'array', maxItems: LIST_MAX, items: object }
}

function memberSchema(name: string, member: OutputMembers[string]): JsonSchema {
  if (member instanceof Resource) return rowReference(member)
  const [item] = itemOf(member)
  if (item instanceof Resource) {
    const { definition } = item
    const description = `Rows of \`${definition.name}\`.`
    return { description, type: 'array', items: rowReference(item) }
  }
  const spec = fieldSpecOf(member) as FieldSpec
  return annotateMember(valueSchema(spec), name, spec, sampleMember(name, spec))
}

/**
 * Returns the example of a response that has rows; undefined for others, which the schema shows.
 *
 * @param rowOf returns a row as responses contain it: without members of `expand`
 */
export function outputSample(
  { output, forward }: RouteDefinition,
  { versions, version, rowOf }: SampleParts,
): unknown {
  if (!output || isMedia(output)) return undefined
  if (output instanceof Resource) return rowOf(output.definition)
  const { members } = bodyFormIn(output as DeclaredMembers, versions, version)
  const isRow = (member: unknown) => member instanceof Resource
  if (!Object.values(members).some((member) => isRow(member) || itemOf(member).some(isRow)))
    return undefined
  const object = Object.fromEntries(
    Object.entries(members).map(([name, member]) => {
      const [item] = itemOf(member)
      if (member instanceof Resource) return [name, rowOf(member.definition)]
      if (item instanceof Resource) return [name, [rowOf(item.definition)]]
      return [name, sampleMember(name, fieldSpecOf(member) as FieldSpec)]
    }),
  )
  return forward?.returnsList ? [object] : object
}

interface SampleParts {
  readonly versions: readonly string[]
  readonly version: string
  readonly rowOf: (definition: ResourceDefinition) => AnyRow
}

/**
 * Returns the limits of the rows that a route returns. A body that is not declared can contain any
 * row, also in a replay after a field of it was limited.
 */
export function limitsOfRoute(
  { limits }: Pick<Catalog, 'limits'>,
  { output }: RouteDefinition,
): FieldLimits {
  if (!output || isMedia(output)) return limits
  const members = output instanceof Resource ? [output] : Object.values(output as OutputMembers)
  const names = members
    .flatMap((member) => [member, ...itemOf(member)])
    .flatMap((member) => (member instanceof Resource ? [member.definition.name] : []))
  return [...new Set(names)].flatMap((name) => limitsOfRows(limits, name))
}
