/**
 * The query and the body of a route's requests. The server validates them in the caller's version,
 * and the handler receives them in the newest (§8.8).
 */

import { Failure } from '../../kernel/failure.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import type { Call } from '../../protocol/http/call.ts'
import { acceptedOf } from '../../protocol/http/content-negotiation.ts'
import { createQueryReader } from '../../protocol/http/query-members.ts'
import type { ChangeChain } from '../versions/change.ts'
import { bodyFormIn, type DeclaredMembers, fieldSpecsOf, newestMembers } from './body-versions.ts'
import { readNewRow, translateFailure } from './caller-terms.ts'
import type { Catalog } from './catalog-entry.ts'
import { bytesOf, type MediaDeclaration, mediaTypesOf } from './media.ts'
import { type AnyRow, Resource } from './resource.ts'
import type { RouteDefinition } from './route.ts'
import { createValidators, toWire } from './validate.ts'

interface RouteRequest {
  readonly query: AnyRow
  readonly input: AnyRow | Uint8Array
  readonly contentType: string | undefined
  /** The media types of the output that the caller accepts, the preferred one first. */
  readonly accepted: readonly string[]
  /** The changes between the caller's version and the newest, for the pointers of failures. */
  readonly chain: ChangeChain
}

type ReadRequest = (call: Call) => RouteRequest

/** Returns the function that reads the requests of a route. */
export function createRouteReader(catalog: Catalog, route: RouteDefinition): ReadRequest {
  const readers = new Map(
    catalog.versions.map((version) => {
      const { specs, read } = createFieldsReader(
        route.query,
        catalog.versions,
        version,
        withoutNull,
      )
      const readQuery = createQueryReader(specs, read)
      return [version, { readQuery, body: bodyReader(catalog, route, version) }]
    }),
  )
  const produces = mediaTypesOf(route.output) ?? []
  return (call) => {
    const { readQuery, body } = readers.get(call.version!)!
    return {
      query: readQuery(call),
      input: body.read(call),
      chain: body.chain,
      contentType: call.headers['content-type'],
      accepted: acceptedOf(call.headers.accept, produces),
    }
  }
}

/** Returns the specs of parameters: none is null, except by its absence. */
const withoutNull = (specs: FieldSpecs): FieldSpecs =>
  Object.fromEntries(
    Object.entries(specs).map(([name, spec]) => [
      name,
      spec.nullable ? { ...spec, nullable: false, default: spec.default ?? null } : spec,
    ]),
  )

interface RequestBody {
  readonly chain: ChangeChain
  read(call: Call): RouteRequest['input']
}

function bodyReader(catalog: Catalog, { input }: RouteDefinition, version: string): RequestBody {
  if (input instanceof Resource) {
    const entry = catalog.entries.get(input.definition.name)!
    const shape = entry.shapes.get(version)!
    const read = (call: Call) => readNewRow(entry, shape.as(call.principal), call.body ?? {})
    return { chain: shape.chain, read }
  }
  const { read, chain } = createFieldsReader(input, catalog.versions, version)
  if (mediaTypesOf(input)) return { chain, read: ({ body }) => bytesOf(body) }
  return { chain, read: (call) => read(call.body ?? {}) }
}

/**
 * Returns the reader of values in a version, which returns them in the newest. `received` converts
 * the specs of that version.
 */
export function createFieldsReader(
  declared: DeclaredMembers | MediaDeclaration | undefined,
  versions: readonly string[],
  version: string,
  received: (specs: FieldSpecs) => FieldSpecs = (specs) => specs,
) {
  const { members, chain } = bodyFormIn(declared, versions, version)
  const specs = received(fieldSpecsOf(members))
  const validate = createValidators(specs).create
  if (chain.isEmpty) return { specs, chain, read: validate }
  const newest = fieldSpecsOf(newestMembers(declared))
  const validateNewest = createValidators(newest).create
  const read = (values: unknown): AnyRow => {
    const converted = Object.entries(chain.up(validate(values)))
    const sent = Object.fromEntries(converted.filter(([, value]) => value !== undefined))
    try {
      return validateNewest(toWire(newest, sent))
    } catch (error) {
      throw error instanceof Failure ? translateFailure({ chain }, error) : error
    }
  }
  return { specs, chain, read }
}
