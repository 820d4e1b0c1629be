/** Finds mistakes in upstreams and in the routes that they answer (§17.5). Pure. */
import { closestClause } from '../../kernel/closest.ts'
import { isWebUrl } from '../../kernel/uri.ts'
import { isMedia } from './media.ts'
import { Resource } from './resource.ts'
import type { RouteDefinition } from './route.ts'
import { HEADER_NAME, isReservedHeader } from './route-check.ts'
import {
  type AnyForwardOptions,
  EnvironmentValue,
  type UpstreamDefinition,
  type UpstreamOptions,
} from './upstream.ts'

const TIMEOUT_MAX_MS = 60_000
const NAME = /^[a-z][a-z0-9_-]{0,62}$/
/** A segment of a path: the characters of RFC 3986 §3.3, or `:name`. */
const SEGMENT = /^(?::[a-z][a-z0-9_-]*|(?!:)(?:[\w.~!$&'()*+,;=:@-]|%[\dA-Fa-f]{2})+)$/
const HEADER_TEXT = /^[\t\x20-\x7e\x80-\xff]*$/

/** Headers that frame a message or belong to one connection (RFC 9110 §7.6.1). */
const FRAMING = new RegExp(
  '^(?:host|content-length|content-encoding|transfer-encoding|connection|keep-alive|te|trailer|' +
    'upgrade|expect|proxy-.*)$',
)
/** Headers of a client that no upstream receives: credentials, and words of proxies. */
const OF_CLIENTS = /^(?:authorization|x-api-key|cookie|idempotency-key|forwarded|x-forwarded-.*)$/
const OF_GATEHOOK = /^(?:gatehook-.*|idempotency-key|x-request-id)$/
/** Headers of an upstream that the engine sets itself, besides those of routes. */
const OF_RESPONSES = new RegExp(
  '^(?:cache-control|pragma|expires|content-security-policy|x-content-type-options|location|' +
    'www-authenticate|proxy-.*|gatehook-.*|ratelimit.*|deprecation|sunset|idempotent-replayed|' +
    'clear-site-data|alt-svc)$',
)

/** Returns the mistake of the address of an upstream, or undefined. */
export function findUrlMistake(url: string): string | undefined {
  if (!isWebUrl(url)) return 'is not an http or https URL, for example http://billing:8000'
  const { username, password } = new URL(url)
  if (username || password || /^[^/]*\/\/[^/?#]*@/.test(url)) {
    return 'contains credentials; set a header: { authorization: env(…) }'
  }
  return /[?#]/.test(url) ? 'has a query or a fragment; it is an address with a path' : undefined
}

export const isHeaderText = (text: string): boolean => HEADER_TEXT.test(text)

/** Returns a sentence for the developer per mistake of `.upstream(name, options)`. */
export function findUpstreamMistakes(
  name: string,
  { url, timeoutMs, set = {} }: UpstreamOptions,
  others: readonly UpstreamDefinition[],
): string[] {
  const mistakes: string[] = []
  if (typeof name !== 'string' || !NAME.test(name)) {
    mistakes.push('the name consists of a-z, 0-9, - and _, for example billing')
  } else if (others.some((other) => other.name === name)) mistakes.push('is declared twice')
  if (typeof url === 'string') {
    const mistake = findUrlMistake(url)
    if (mistake !== undefined) mistakes.push(`url ${mistake}`)
  } else if (!(url instanceof EnvironmentValue)) {
    mistakes.push("url is required: env('BILLING_URL') or 'http://billing:8000'")
  }
  const isTime = Number.isInteger(timeoutMs) && timeoutMs! >= 1 && timeoutMs! <= TIMEOUT_MAX_MS
  if (timeoutMs !== undefined && !isTime) {
    mistakes.push(`timeoutMs is a whole number from 1 to ${TIMEOUT_MAX_MS}`)
  }
  if (typeof set !== 'object' || set === null || Array.isArray(set)) {
    return [...mistakes, "set is an object of headers: { authorization: env('BILLING_TOKEN') }"]
  }
  for (const [header, text] of Object.entries(set)) {
    const problem = HEADER_NAME.test(header) ? sentHeaderProblem(header) : 'is not a header'
    if (problem !== undefined) mistakes.push(`set: ${header} ${problem}`)
    const isText = typeof text === 'string' && isHeaderText(text)
    if (!isText && !(text instanceof EnvironmentValue)) {
      mistakes.push(`set: ${header} is a text without line breaks, or env(…)`)
    }
  }
  return mistakes
}

function sentHeaderProblem(header: string): string | undefined {
  const name = header.toLowerCase()
  if (FRAMING.test(name)) return 'belongs to the connection, which the engine opens'
  return OF_GATEHOOK.test(name) ? 'is set by the engine' : undefined
}

/** Returns a sentence for the developer per mistake of `.forward(options)`. */
export function findForwardMistakes(
  { to, upstreamPath, path, integers, pass, method, errors, ...rest }: AnyForwardOptions,
  upstreams: readonly UpstreamDefinition[],
): string[] {
  const mistakes: string[] = []
  const names = upstreams.map(({ name }) => name)
  if (!names.includes(to)) {
    const hint =
      closestClause(String(to), names) || `; declare .upstream('${String(to)}', { url }) before`
    mistakes.push(`there is no upstream ${String(to)}${hint}`)
  }
  mistakes.push(...upstreamPathMistakes(upstreamPath, String(path)))
  mistakes.push(...integerMistakes(integers, String(path)))
  if (errors !== undefined && errors !== 'pass' && errors !== 'wrap') {
    mistakes.push("errors is 'pass' or 'wrap'")
  }
  for (const name of ['stream', 'repeatable'] as const) {
    const value: unknown = rest[name]
    if (value !== undefined && typeof value !== 'boolean') mistakes.push(`${name} is true or false`)
  }
  if (rest.repeatable === true && method !== 'POST' && method !== 'PATCH') {
    mistakes.push('repeatable is of POST and PATCH, which take an Idempotency-Key')
  }
  if (rest.stream === true && rest.output !== undefined) {
    mistakes.push('a stream has no output, which is validated as a whole: omit one of them')
  }
  mistakes.push(...bodyMistakes(rest))
  mistakes.push(
    ...nameMistakes('pass', pass, (name) => {
      if (OF_CLIENTS.test(name)) return 'is never forwarded; use set for a value of your own'
      return sentHeaderProblem(name)
    }),
  )
  const isOwn = (name: string) => isReservedHeader(name) || OF_RESPONSES.test(name)
  mistakes.push(
    ...nameMistakes('responseHeaders', rest.responseHeaders, (name) =>
      isOwn(name) ? 'is set by the engine' : undefined,
    ),
  )
  return mistakes
}

function upstreamPathMistakes(upstreamPath: unknown, path: string): string[] {
  const example = 'upstreamPath is a path below the url: /invoices or /invoices/:id'
  if (typeof upstreamPath !== 'string' || !upstreamPath.startsWith('/')) return [example]
  const segments = upstreamPath.slice(1).split('/')
  const mistakes: string[] = []
  for (const [at, segment] of segments.entries()) {
    if (segment === '' && at === segments.length - 1) continue // a path may end in a slash
    if (/^\{.*\}$/.test(segment))
      mistakes.push(`upstreamPath: write ${segment} as :${segment.slice(1, -1)}`)
    else if (!SEGMENT.test(segment) || /^(?:\.|%2e){1,2}$/i.test(segment)) return [example]
    else if (segment.startsWith(':') && !path.split('/').includes(segment)) {
      mistakes.push(`upstreamPath: path has no ${segment}`)
    }
  }
  return mistakes
}

function integerMistakes(integers: unknown, path: string): string[] {
  if (integers === undefined) return []
  if (!Array.isArray(integers)) return ["integers is an array of names of the path: ['id']"]
  const segments = path.split('/')
  return integers
    .filter((name) => !segments.includes(`:${name}`))
    .map((name) => `integers: path has no :${name}`)
}

function bodyMistakes({ input, output }: Pick<AnyForwardOptions, 'input' | 'output'>): string[] {
  const mistakes: string[] = []
  if ((input as unknown) instanceof Resource) mistakes.push('input is an object of fields')
  const items: readonly unknown[] = Array.isArray(output) ? output : [output]
  const [item] = items
  const isObject = typeof item === 'object' && item !== null && !Array.isArray(item)
  const isOther = item instanceof Resource || (isObject && isMedia(item))
  if (items.length !== 1 || (output !== undefined && !isObject) || isOther) {
    mistakes.push(
      'output is an object of fields, or a list of it: [fields({…})]; omit it for a body of ' +
        'another type',
    )
  }
  return mistakes
}

function nameMistakes(
  part: string,
  names: unknown,
  problemOf: (name: string) => string | undefined,
): string[] {
  if (names === undefined) return []
  if (!Array.isArray(names)) return [`${part} is an array of headers: ['x-tenant']`]
  return names.flatMap((name) => {
    const isName = typeof name === 'string' && HEADER_NAME.test(name)
    const problem = isName ? problemOf(name.toLowerCase()) : 'is not a header'
    return problem === undefined ? [] : [`${part}: ${name} ${problem}`]
  })
}

/** Returns the routes that an upstream answers. */
export const forwardsOf = (routes: readonly RouteDefinition[], name: string) =>
  routes.filter(({ forward }) => forward?.to === name)

export const isUpstreamName = (name: string): boolean => NAME.test(name)

/** Returns whether a route of a path can lead to a path of an upstream. */
export const isForwardable = (upstreamPath: string, path: string): boolean =>
  upstreamPathMistakes(upstreamPath, path).length === 0
