/**
 * The declared `output` of an upstream (§17.5): its body is validated in the newest version, and
 * converted for older ones. Members that the declaration lacks pass. Pure.
 */
import { Failure } from '../../kernel/failure.ts'
import { createObjectReader } from '../../protocol/fields/reader.ts'
import { isPlainObject } from '../../protocol/fields/reading.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import type { MemberSpec } from '../../protocol/fields/spec.ts'
import { parseJsonBody } from '../../protocol/http/json-body.ts'
import { bodyFormIn, type DeclaredMembers, newestMembers } from '../resources/body-versions.ts'
import type { AnyRow } from '../resources/resource.ts'
import { memberSpecsOf } from '../resources/route-output.ts'
import { toWire } from '../resources/validate.ts'

/** The body of an upstream violates its declaration; the message is for the log. */
export class InvalidOutput extends Error {}

type ConvertOutput = (body: Uint8Array, version: string) => string

/** Returns the function that converts a body to JSON text in a version. */
export function createOutputConverter(
  declared: DeclaredMembers,
  versions: readonly string[],
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
  return (bytes, version) => {
    const body = parseObject(bytes)
    const values = requireValid(read(declaredPart(newest, body)))
    const { specs, chain, read: readOlder } = forms.get(version)!
    if (chain.isEmpty) return textOf(body, bytes)
    const nulls = Object.fromEntries(Object.keys(newest).map((name) => [name, null]))
    const older = toWire(specs, chain.down({ ...nulls, ...values }))
    requireValid(readOlder(declaredPart(specs, older)))
    const converted = Object.keys(specs).map((name) => [
      name,
      Object.hasOwn(chain.renamed, name) ? older[name] : body[name],
    ])
    const further = Object.entries(body).filter(
      ([name]) => !Object.hasOwn(newest, name) && !Object.hasOwn(specs, name),
    )
    return JSON.stringify(Object.fromEntries([...converted, ...further]))
  }
}

/** Nullable members may be absent: many frameworks omit them. */
const openSpecs = (members: Parameters<typeof memberSpecsOf>[0]): FieldSpecs =>
  Object.fromEntries(
    Object.entries(memberSpecsOf(members)).map(([name, spec]) => [
      name,
      spec.nullable ? { ...spec, write: 'optional' } : spec,
    ]),
  ) as FieldSpecs

function parseObject(bytes: Uint8Array): AnyRow {
  let body: unknown
  try {
    body = parseJsonBody(bytes)
  } catch (error) {
    throw new InvalidOutput(error instanceof Failure ? error.message : 'the body is not JSON')
  }
  if (!isPlainObject(body)) throw new InvalidOutput('the body is not an object')
  return body
}

function requireValid({ values, errors }: ReturnType<ReturnType<typeof createObjectReader>>) {
  const [error] = errors
  if (error) throw new InvalidOutput(`${error.pointer} ${error.message}`)
  return values
}

/** Returns the text of a body, without the member that the engine adds. */
function textOf(body: AnyRow, bytes: Uint8Array): string {
  const { _warnings, ...rest } = body
  const isEmpty = Object.keys(rest).length === 0
  return _warnings !== undefined || isEmpty
    ? JSON.stringify(rest)
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8').trim()
}

/** Returns the declared members of an object, also of objects in it. */
function declaredPart(members: Readonly<Record<string, MemberSpec>>, value: AnyRow): AnyRow {
  const names = Object.keys(members).filter((name) => Object.hasOwn(value, name))
  return Object.fromEntries(names.map((name) => [name, declaredValue(members[name]!, value[name])]))
}

function declaredValue({ members, items }: MemberSpec, value: unknown): unknown {
  if (items && Array.isArray(value)) return value.map((item) => declaredValue(items, item))
  return members && isPlainObject(value) ? declaredPart(members, value) : value
}
