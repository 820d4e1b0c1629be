/** Finds the path of a request among the endpoints, by Fastify's router. */
import createRouter from 'find-my-way'
import { Failure } from '../../kernel/failure.ts'
import type { Endpoint } from './call.ts'
import { acceptedTypes } from './content-negotiation.ts'
import type { HttpLimits, Pipeline, PreparedPath } from './exchange.ts'
import { withTrailingSlash } from './trailing-slash.ts'

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze(Object.create(null))
const NO_QUERY = Object.freeze({})

interface PathMatch {
  readonly prepared: PreparedPath
  readonly params: Readonly<Record<string, string>>
  readonly refusal?: Failure
}

/** Registers every path once for all methods: a method that a path lacks is 405, not 404. */
export function createPathFinder(
  endpoints: readonly Endpoint[],
  pipeline: Pipeline,
  { urlBytes }: Pick<HttpLimits, 'urlBytes'>,
): (path: string) => PathMatch {
  const unknown: PreparedPath = {
    kind: 'unknown',
    route: '*',
    methods: {},
    allow: '',
    acceptPatch: undefined,
    steps: pipeline.unknown,
  }
  const noMatch: PathMatch = { prepared: unknown, params: NO_PARAMS }
  const ignoreMatch = () => {}
  const router = createRouter({
    maxParamLength: urlBytes,
    querystringParser: () => NO_QUERY,
    onBadUrl: ignoreMatch,
  })
  const redirects = new Map<PreparedPath, PreparedPath>()
  for (const endpoint of endpoints) {
    const prepared = preparePath(endpoint, pipeline)
    router.on('GET', endpoint.path, ignoreMatch, prepared)
    const redirect = withTrailingSlash(endpoint)
    if (redirect) redirects.set(prepared, preparePath(redirect, pipeline))
  }
  const findExactly = (path: string): PathMatch => {
    const match = router.find('GET', path)
    if (!match) return noMatch
    const { store, params } = match as { store: PreparedPath | null; params: PathMatch['params'] }
    if (!store) {
      const refusal = new Failure('invalid_request', 'A percent escape in the path is malformed.')
      return { ...noMatch, refusal }
    }
    // For the router, `/users/` matches `/users/:id`.
    for (const name in params) if (params[name] === '') return noMatch
    if (hasEscapedStart(path)) return noMatch
    return { prepared: store, params }
  }
  return (path) => {
    if (path.length > 1 && path.endsWith('/')) {
      const { prepared, params } = findExactly(path.slice(0, -1))
      const redirect = redirects.get(prepared)
      if (redirect) return { prepared: redirect, params }
    }
    return findExactly(path)
  }
}

/**
 * Whether the first segment of a path is escaped: proxies and audiences compare the beginning of a
 * path, such as `/admin`, as it was sent.
 */
const hasEscapedStart = (path: string): boolean => /^\/[^/]*%/.test(path)

function preparePath(endpoint: Endpoint, pipeline: Pipeline): PreparedPath {
  const { PATCH } = endpoint.methods
  const methods = Object.keys(endpoint.methods)
  const get = methods.indexOf('GET')
  if (get >= 0) methods.splice(get + 1, 0, 'HEAD')
  return {
    kind: endpoint.kind,
    route: endpoint.path,
    methods: endpoint.methods,
    allow: [...methods, 'OPTIONS'].join(', '),
    acceptPatch: PATCH && acceptedTypes(PATCH, 'PATCH').join(', '),
    steps: pipeline[endpoint.kind],
  }
}
