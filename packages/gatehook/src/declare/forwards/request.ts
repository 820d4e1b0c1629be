/**
 * The request that an upstream receives (§17.5), from that of a client: its path, query, headers
 * and body. Nothing else passes.
 */
import { Failure } from '../../kernel/failure.ts'
import type { Call } from '../../protocol/http/call.ts'
import { vendorTypePattern } from '../../protocol/http/content-negotiation.ts'
import { MediaBody } from '../../protocol/http/media-body.ts'
import { engineParameters } from '../../protocol/http/query.ts'
import { createQueryReader, rejectUnknownParameters } from '../../protocol/http/query-members.ts'
import { fieldSpecsOf, newestMembers } from '../resources/body-versions.ts'
import type { Catalog } from '../resources/catalog.ts'
import { mediaTypesOf } from '../resources/media.ts'
import type { AnyRow } from '../resources/resource.ts'
import type { RouteDefinition } from '../resources/route.ts'
import { createFieldsReader } from '../resources/route-input.ts'
import { toWire } from '../resources/validate.ts'
import type { ConfiguredUpstream } from './configuration.ts'

export interface ForwardedRequest {
  /** With the query, as the upstream receives it. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | string | null
}

type ReadForwarded = (call: Call) => ForwardedRequest

/** Whether a header of a client passes. */
const isPassing = (name: string) =>
  /^(?:content-type|range|traceparent)$/.test(name) || /^(?:accept|if-)/.test(name)
/** Whether it concerns the bytes of a body, which a declared `output` replaces. */
const isOfBytes = (name: string) => /^(?:accept-encoding|range)$/.test(name) || /^if-/.test(name)
const CONTROL = /[\0-\x1f\x7f]/

/** Returns the function that reads the requests of a route for its upstream. */
export function createForwardReader(
  catalog: Catalog,
  route: RouteDefinition,
  upstream: ConfiguredUpstream,
): ReadForwarded {
  const { upstreamPath, integers } = route.forward!
  const segments = upstreamPath.split('/')
  const readQuery = queryReader(catalog, route)
  const readBody = bodyReader(catalog, route)
  const readHeaders = headerReader(catalog, route, upstream)
  return (call) => {
    if (!integers.every((name) => isWholeNumber(call.params[name]!))) throw new Failure('not_found')
    const path = segments
      .map((segment) =>
        segment.startsWith(':') ? encodeParameter(call.params[segment.slice(1)]!) : segment,
      )
      .join('/')
    const query = readQuery(call)
    const body = readBody(call)
    return {
      path: `${upstream.basePath}${path}${query === '' ? '' : `?${query}`}`,
      headers: readHeaders(call, body !== null),
      body,
    }
  }
}

/** The syntax of §7.3. */
const isWholeNumber = (text: string): boolean =>
  /^(?:0|[1-9]\d{0,15})$/.test(text) && Number.isSafeInteger(Number(text))

/**
 * Encodes a parameter as one segment. A dot between slashes would lead an upstream that decodes
 * the path first to another one.
 */
function encodeParameter(text: string): string {
  const hasDots = text.split(/[/\\]/).some((part) => part === '.' || part === '..')
  if (hasDots || CONTROL.test(text)) throw new Failure('not_found')
  return encodeURIComponent(text)
}

function queryReader(catalog: Catalog, { query, forward }: RouteDefinition) {
  if (forward!.passesQuery) {
    return ({ query }: Call) =>
      encodeQuery(query.entries.filter(([name]) => !engineParameters.has(name)))
  }
  if (!query) {
    return (call: Call) => {
      rejectUnknownParameters(call, [])
      return ''
    }
  }
  const newest = fieldSpecsOf(newestMembers(query))
  const readers = new Map(
    catalog.versions.map((version) => {
      const { specs, read } = createFieldsReader(query, catalog.versions, version)
      return [version, createQueryReader(specs, read)]
    }),
  )
  return (call: Call) => {
    const values = toWire(newest, readers.get(call.version!)!(call))
    const sent = Object.keys(newest).filter((name) => values[name] != null)
    return encodeQuery(sent.map((name) => [name, String(values[name])]))
  }
}

const encodeQuery = (entries: readonly (readonly [string, string])[]): string =>
  new URLSearchParams(entries.map(([name, value]) => [name, value])).toString()

function bodyReader(catalog: Catalog, { method, input }: RouteDefinition) {
  if (method === 'GET') return () => null
  if (!input || mediaTypesOf(input)) {
    return ({ body }: Call) =>
      body instanceof MediaBody && body.bytes.length > 0 ? body.bytes : null
  }
  const declared = input as Parameters<typeof fieldSpecsOf>[0]
  const newest = fieldSpecsOf(newestMembers(declared))
  const readers = new Map(
    catalog.versions.map((version) => [
      version,
      createFieldsReader(declared, catalog.versions, version),
    ]),
  )
  return (call: Call) => {
    const { read, chain } = readers.get(call.version!)!
    const body = (call.body ?? {}) as AnyRow
    const values = toWire(newest, read(body))
    const isSent = (name: string) => chain.oldFieldsOf(name).some((old) => Object.hasOwn(body, old))
    // An omitted member of a PATCH means no change, so that its default must not arrive.
    const passes = (name: string) => isSent(name) || (method !== 'PATCH' && values[name] != null)
    const sent = Object.keys(newest).filter((name) => values[name] !== undefined && passes(name))
    return JSON.stringify(Object.fromEntries(sent.map((name) => [name, values[name]])))
  }
}

function headerReader(
  { service }: Catalog,
  { method, input, output, forward }: RouteDefinition,
  { set }: ConfiguredUpstream,
) {
  const vendor = vendorTypePattern(service.vendor)
  const isJson = input !== undefined && mediaTypesOf(input) === undefined
  const isVendor = (text: string) =>
    text.split(',').some((part) => vendor.test(part.split(';', 1)[0]!.trim()))
  const passes = (name: string) =>
    !(output && isOfBytes(name)) && (isPassing(name) || forward!.pass.includes(name))
  return (call: Call, hasBody: boolean): Record<string, string> => {
    if (output && method !== 'GET' && call.headers['if-match'] !== undefined) throw uncompared()
    const headers: Record<string, string> = {}
    const ofConnection = (call.headers.connection ?? '').toLowerCase().split(/[\s,]+/)
    for (const [name, value] of Object.entries(call.headers)) {
      if (value === undefined || !passes(name) || ofConnection.includes(name)) continue
      headers[name] = String(value)
    }
    if (headers.accept !== undefined && isVendor(headers.accept)) headers.accept = JSON_TYPE
    if (!hasBody) delete headers['content-type']
    else if (isJson && (!headers['content-type'] || isVendor(headers['content-type']))) {
      headers['content-type'] = JSON_TYPE
    }
    return { ...headers, ...set, 'x-request-id': call.id }
  }
}

const uncompared = () =>
  new Failure('invalid_request', 'This route does not compare If-Match. It was not sent.')

const JSON_TYPE = 'application/json'
