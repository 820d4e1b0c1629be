/**
 * The headers of an upstream that the client receives (§17.5), and links below the `url` of the
 * upstream as paths of this API. Pure.
 */
import type { UpstreamOutcome } from '../../outbound/transport/upstream-exchange.ts'
import type { RouteDefinition } from '../resources/route.ts'
import type { ConfiguredUpstream } from './configuration.ts'

type Headers = Extract<UpstreamOutcome, { kind: 'answered' }>['headers']

const PASSING = ['content-disposition', 'last-modified', 'retry-after']
/** Those that concern the bytes of a body; a declared `output` has others. */
const OF_BYTES = ['content-type', 'content-encoding', 'etag', 'accept-ranges', 'content-range']

interface LinkContext {
  readonly upstream: ConfiguredUpstream
  /** The path of the request, with its query, as the upstream received it. */
  readonly sentPath: string
  /** The path of the request in this API. */
  readonly publicPath: string
  readonly version: string
  /** The routes that the upstream answers. */
  readonly routes: readonly RouteDefinition[]
}

/** Returns the headers of a response by name. */
export function responseHeadersOf(
  headers: Headers,
  { forward }: RouteDefinition,
  context: LinkContext,
  hasOutput: boolean,
): Record<string, string> {
  const passing: Record<string, string> = {}
  for (const name of hasOutput ? PASSING : [...PASSING, ...OF_BYTES]) {
    const value = headers.get(name)?.[0]
    if (value !== undefined) passing[name] = value
  }
  for (const name of forward!.responseHeaders) {
    const values = headers.get(name)
    if (values) passing[name] = values.join(', ')
  }
  const location = headers.get('location')?.[0]
  const publicLocation = location === undefined ? undefined : publicPathOf(location, context)
  if (publicLocation !== undefined) passing.location = publicLocation
  const links = rewriteLinks((headers.get('link') ?? []).join(', '), context)
  if (links !== '') passing.link = links
  return passing
}

/** A comma ends a link unless it is the last one. */
function withoutComma(parameters: string): string {
  const text = parameters.trimEnd()
  return text.endsWith(',') ? text.slice(0, -1).trimEnd() : text
}

/** Returns the links of a `Link` header that lead below the upstream. */
const rewriteLinks = (text: string, context: LinkContext): string =>
  [...text.matchAll(/<([^<>]*)>([^<>]*)/g)]
    .flatMap(([, target, parameters]) => {
      const path = publicPathOf(target!, context)
      return path === undefined ? [] : [`<${path}>${withoutComma(parameters!)}`]
    })
    .join(', ')

/** Returns the path of this API that leads to a URL of the upstream; undefined for none. */
function publicPathOf(target: string, context: LinkContext): string | undefined {
  const { upstream, sentPath, publicPath, version, routes } = context
  const { origin, basePath } = upstream
  const url = URL.parse(target, origin + sentPath)
  if (url?.origin !== origin || !url.pathname.startsWith(`${basePath}/`)) return undefined
  const path = url.pathname.slice(basePath.length)
  const segments = path.split('/')
  for (const route of routes) {
    const parameters = matchSegments(route.forward!.upstreamPath.split('/'), segments)
    if (!parameters) continue
    const named = route.path.split('/').map((part) => parameters.get(part) ?? part)
    if (named.some((part) => part.startsWith(':'))) continue
    return `/api/${version}${named.join('/')}${url.search}`
  }
  const own = sentPath.slice(basePath.length).split('?', 1)[0]!
  return path.startsWith(`${own}/`) ? publicPath + path.slice(own.length) + url.search : undefined
}

/** Returns the values of the `:names` of a template; undefined if it does not match. */
function matchSegments(template: readonly string[], segments: readonly string[]) {
  const parameters = new Map<string, string>()
  if (template.length !== segments.length) return undefined
  for (const [at, part] of template.entries()) {
    const segment = segments[at]!
    if (part.startsWith(':') && segment !== '') parameters.set(part, segment)
    else if (part !== segment) return undefined
  }
  return parameters
}
