/**
 * The declared `output` of an upstream (§17.5): its body is validated in the newest version, and
 * converted for older ones. Members that the declaration lacks pass. Pure.
 */
import { Failure } from '../../kernel/failure.ts'
import { createObjectReader } from '../../protocol/fields/reader.ts'
import { isPlainObject } from '../../protocol/fields/reading.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import type { MemberSpec, MemberSpecs } from '../../protocol/fields/spec.ts'
import { JSON_VALUES_MAX, measureJson, parseJsonBody } from '../../protocol/http/json-body.ts'
import { itemTexts, memberTexts, objectText } from '../../protocol/http/json-text.ts'
import { bodyFormIn, type DeclaredMembers, newestMembers } from '../resources/body-versions.ts'
import type { AnyRow } from '../resources/resource.ts'
import { canBeAbsent, LIST_MAX, memberSpecsOf } from '../resources/route-output.ts'
import { toWire } from '../resources/validate.ts'

/** The body of an upstream violates its declaration; the message is for the log. */
export class InvalidOutput extends Error {}

const utf8 = new TextDecoder()

type ConvertOutput = (body: Uint8Array, version: string) => string

/**
 * Returns the function that converts a body to JSON text in a version.
 *
 * @param isList - whether the body is a list of objects with the declared members
 */
export function createOutputConverter(
  declared: DeclaredMembers,
  versions: readonly string[],
  isList = false,
): ConvertOutput {
  const newest = openSpecs(newestMembers(declared))
  const read = createObjectReader({ members: newest })
  const forms = new Map(
    versions.map((version) => {
      const { members, chain } = bodyFormIn(declared, versions, version)
      const specs = openSpecs(members)
      return [version, { specs, chain, read: createObjectReader({ members: specs }) }]
    }),
  )
  const nulls = Object.fromEntries(Object.keys(newest).map((name) => [name, null]))
  const readNewest = (body: unknown, place: string) => {
    if (!isPlainObject(body)) throw new InvalidOutput(`${place} the body is not an object`.trim())
    return requireValid(read(declaredPart(newest, body)), place)
  }
  /** Returns the text of an object in a version, from its values and its text as it was sent. */
  const convert = (values: AnyRow, text: string, version: string, place: string): string => {
    const { specs, chain, read: readOlder } = forms.get(version)!
    const older = toWire(specs, chain.down({ ...nulls, ...values }))
    requireValid(readOlder(declaredPart(specs, older)), place)
    // Unconverted members keep their digits.
    const texts = memberTexts(text)
    const converted = new Map<string, string>()
    for (const name of Object.keys(specs)) {
      const isChanged = Object.hasOwn(chain.renamed, name)
      const member = isChanged ? JSON.stringify(older[name]) : texts.get(name)
      if (member !== undefined) converted.set(name, member)
    }
    for (const [name, member] of texts) {
      if (!Object.hasOwn(newest, name) && !Object.hasOwn(specs, name)) converted.set(name, member)
    }
    return objectText(converted)
  }
  const convertObject: ConvertOutput = (bytes, version) => {
    const body = parseBody(bytes, { members: newest })
    const values = readNewest(body, '')
    if (forms.get(version)!.chain.isEmpty) return textOf(body as AnyRow, bytes)
    return convert(values, utf8.decode(bytes), version, '')
  }
  const convertList: ConvertOutput = (bytes, version) => {
    const body = parseBody(bytes, { items: { members: newest } as MemberSpec })
    if (!Array.isArray(body)) throw new InvalidOutput('the body is not a list')
    if (body.length > LIST_MAX) throw new InvalidOutput(`the list has more than ${LIST_MAX} items`)
    const values = body.map((item, at) => readNewest(item, `/${at}`))
    const text = utf8.decode(bytes).trim()
    if (forms.get(version)!.chain.isEmpty) return text
    const items = itemTexts(text).map((item, at) => convert(values[at]!, item, version, `/${at}`))
    return `[${items.join()}]`
  }
  return isList ? convertList : convertObject
}

const openSpecs = (members: Parameters<typeof memberSpecsOf>[0]): FieldSpecs =>
  Object.fromEntries(
    Object.entries(memberSpecsOf(members)).map(([name, spec]) => [
      name,
      canBeAbsent(spec) ? { ...spec, write: 'optional' } : spec,
    ]),
  ) as FieldSpecs

/** Parses a body, and its declared members strictly. */
function parseBody(bytes: Uint8Array, declared: Parameters<typeof isDeclared>[0]): unknown {
  try {
    // The team's own program chooses the names, so that no bound but that of values applies.
    const size = measureJson(bytes, JSON_VALUES_MAX, Number.POSITIVE_INFINITY)
    return parseJsonBody(bytes, { size, isStrict: (path) => isDeclared(declared, path) })
  } catch (error) {
    throw new InvalidOutput(error instanceof Failure ? error.message : 'the body is not JSON')
  }
}

function requireValid(
  { values, errors }: ReturnType<ReturnType<typeof createObjectReader>>,
  place: string,
) {
  const [error] = errors
  if (error) throw new InvalidOutput(`${place}${error.pointer} ${error.message}`)
  return values
}

/** Returns the text of a body, without the member that the engine adds. */
function textOf(body: AnyRow, bytes: Uint8Array): string {
  const isEmpty = Object.keys(body).every((name) => name === '_warnings')
  if (body._warnings !== undefined || isEmpty) {
    const texts = memberTexts(utf8.decode(bytes))
    texts.delete('_warnings')
    return objectText(texts)
  }
  return utf8.decode(bytes).trim()
}

/** Returns whether a path leads to a declared member, or into one without members of its own. */
function isDeclared(
  declared: Pick<MemberSpec, 'members' | 'items'>,
  path: Iterable<string | number>,
): boolean {
  let spec = declared
  for (const name of path) {
    if (spec.items) spec = spec.items
    else if (!spec.members) return true
    else if (!Object.hasOwn(spec.members, name)) return false
    else spec = spec.members[name]!
  }
  return true
}

/** Returns the declared members of an object, also of objects in it. */
function declaredPart(members: MemberSpecs, value: AnyRow): AnyRow {
  const names = Object.keys(members).filter((name) => Object.hasOwn(value, name))
  return Object.fromEntries(names.map((name) => [name, declaredValue(members[name]!, value[name])]))
}

function declaredValue({ members, items }: MemberSpec, value: unknown): unknown {
  if (items && Array.isArray(value)) return value.map((item) => declaredValue(items, item))
  return members && isPlainObject(value) ? declaredPart(members, value) : value
}
