/** The headers of responses in OpenAPI documents, and the responses that send them (§10, §11). */
import type { JsonSchema } from '../fields/json-schema.ts'
import type { ResponseHeader } from '../http/response-headers.ts'
import { objectOf } from './schema-walk.ts'

const header = (
  description: string,
  example: unknown,
  schema: JsonSchema = { type: 'string' },
) => ({
  description,
  schema: { ...schema, examples: [example] },
})
const integer = { type: 'integer', minimum: 0 }

const headers = {
  'X-Request-Id': header('The id of the request.', 'req_6yCqcYD5VBL7k5BZ'),
  'X-API-Version': header('The version that served the request.', 'v1'),
  'RateLimit-Policy': header(
    'The quota `q` and its window `w` in seconds.',
    '"default";q=1000;w=60',
  ),
  RateLimit: header(
    'The remaining requests `r`, and the seconds `t` until the next one.',
    '"default";r=999;t=42',
  ),
  'Retry-After': header('The seconds to wait.', 30, integer),
  ETag: header('The tag of the content, for `If-Match` and `If-None-Match`.', '"5d41402abc4b2a76"'),
  Location: header('The path of the new row.', '/webhooks/wh_5Q8mZ2'),
  Link: header(
    'The pages `first`, `prev`, `next`, `last` (RFC 8288).',
    '</list?cursor=x>; rel="next"',
  ),
  'X-Total-Count': header('The number of rows, in styles that count.', 120, integer),
  'Preference-Applied': header('The response is that of a dry run.', 'dry-run', {
    type: 'string',
    const: 'dry-run',
  }),
  'Idempotent-Replayed': header('The response is that of the first request.', 'true', {
    type: 'string',
    const: 'true',
  }),
  'WWW-Authenticate': header(
    'At 401 the schemes of credentials; at 403 the scope that an access token lacks.',
    'Bearer resource_metadata="https://api.example.com/.well-known/…", ApiKey',
  ),
  'Accept-Encoding': header('The only coding of bodies.', 'identity'),
  'Accept-Patch': header('The media types of PATCH.', 'application/json'),
  Accept: header('The media types of bodies.', 'application/json'),
  Deprecation: header('Since when the version is deprecated (RFC 9745).', '@1764547200'),
  Sunset: header('When the version ends (RFC 8594).', 'Wed, 01 Dec 2027 00:00:00 GMT'),
  'Gatehook-Read-After': header('With replicas: a position for the next request.', '16/B374D848'),
  'Access-Control-Allow-Origin': header('The origin that may read it.', 'https://app.example'),
} as const satisfies Partial<
  Record<ResponseHeader | 'Access-Control-Allow-Origin', ReturnType<typeof header>>
>

export type HeaderName = keyof typeof headers

/** Returns the headers of a document of a version. Each component has the name of its header. */
export const headerComponents = (version: string): Readonly<Record<string, JsonSchema>> => ({
  ...headers,
  'X-API-Version': header('The version that served the request.', version),
})

/** The headers of every response. */
const ALWAYS: readonly HeaderName[] = [
  'X-Request-Id',
  'RateLimit-Policy',
  'RateLimit',
  'Access-Control-Allow-Origin',
]

/** The headers of successful responses under `/api`. */
const VERSIONED: readonly HeaderName[] = ['X-API-Version', 'Deprecation', 'Sunset']

export interface ResponseFacts {
  readonly status: string
  readonly isVersioned: boolean
  readonly isList: boolean
  readonly isCreated: boolean
  readonly isIdempotent: boolean
  readonly hasEtag: boolean
}

/** Returns the names of the headers of a successful response. */
export function successHeaders(facts: ResponseFacts): HeaderName[] {
  return [
    ...ALWAYS,
    ...(facts.isVersioned ? VERSIONED : []),
    ...(facts.hasEtag ? (['ETag'] as const) : []),
    ...(facts.isList ? (['Link', 'X-Total-Count'] as const) : []),
    ...(facts.isCreated ? (['Location'] as const) : []),
    ...(facts.isIdempotent ? (['Idempotent-Replayed'] as const) : []),
  ]
}

const BY_STATUS: Readonly<Record<string, readonly HeaderName[]>> = {
  '401': ['WWW-Authenticate'],
  '403': ['WWW-Authenticate'],
  '409': ['Retry-After'],
  '410': ['Retry-After'],
  '415': ['Accept', 'Accept-Encoding', 'Accept-Patch'],
  '429': ['Retry-After'],
  '503': ['Retry-After'],
}

export const failureHeaders = (status: string): HeaderName[] => [
  ...ALWAYS,
  ...(BY_STATUS[status] ?? []),
]

/** Adds references to headers that the response does not have yet. */
export function addHeaders(response: JsonSchema, names: readonly HeaderName[]): void {
  const own = objectOf(response.headers)
  const added = names
    .filter((name) => own[name] === undefined)
    .map((name) => [name, { $ref: `#/components/headers/${name}` }])
  response.headers = { ...own, ...Object.fromEntries(added) }
}
