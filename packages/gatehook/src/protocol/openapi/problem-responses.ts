/** The failures in OpenAPI documents: envelope, RFC 9457, headers, examples (§10.1). Pure. */

import { type FailureCode, failures } from '../../kernel/failure.ts'
import type { JsonSchema } from '../fields/json-schema.ts'
import { type ErrorStatus, errorResponses, errorSchemas, openSet, ref } from './parts.ts'
import { addHeaders, failureHeaders } from './response-headers.ts'
import { objectOf, operationsIn } from './schema-walk.ts'

/** The responses that every operation can have, besides those it lists. */
const EVERYWHERE: readonly ErrorStatus[] = [414, 431, 500, 503]

/** Also those of a version: it can be retired, or in a brownout. */
const IN_VERSIONS: readonly ErrorStatus[] = [410, ...EVERYWHERE]
const isVersioned = (path: string): boolean => path.startsWith('/api/')

/** The code in the example of a status; else the first one of the status. */
const EXAMPLE_CODES: Readonly<Record<string, FailureCode>> = {
  '400': 'invalid_parameter',
  '403': 'insufficient_scope',
  '422': 'validation_failed',
}

/** The failures of the service itself, by code: its status, sentence and details. */
export const OWN_FAILURES = 'x-failures'

const codeFor = (status: string): FailureCode =>
  EXAMPLE_CODES[status] ??
  (Object.keys(failures) as FailureCode[]).find((code) => failures[code][0] === Number(status)) ??
  'not_found'

/** Returns the page that documents a code in a version. */
const errorPage = (version: string, code: FailureCode): string =>
  `https://api.example/docs/${version}/errors#${code}`

const errorPageSchema = (version: string, format: string): JsonSchema => ({
  type: 'string',
  format,
  description: 'The page that documents the code.',
  examples: [errorPage(version, 'not_found')],
})

const problemMembers = (version: string): Readonly<Record<string, JsonSchema>> => ({
  type: errorPageSchema(version, 'uri-reference'),
  title: {
    type: 'string',
    description: 'The meaning of the code, the same for every request.',
    examples: ['The path or resource does not exist.'],
  },
  detail: {
    type: 'string',
    description: 'The sentence in `message`.',
    examples: ['The path or resource does not exist.'],
  },
  instance: {
    type: 'string',
    format: 'uri-reference',
    description: 'The path of the request.',
    examples: ['/webhooks/wh_1'],
  },
})

/**
 * Completes the responses of failures in place. The schemas have their words already.
 *
 * @param version the version of the pages to which failures link
 */
export function addErrors(document: JsonSchema, version: string): void {
  const components = objectOf(document.components)
  const schemas = objectOf(components.schemas)
  Object.assign(schemas, errorSchemas)
  const error = objectOf(schemas.ErrorBody)
  const properties = structuredClone(objectOf(error.properties))
  properties.documentation = errorPageSchema(version, 'uri')
  schemas.ErrorBody = { ...error, properties }
  schemas.Problem = {
    description: 'A failure in the form of RFC 9457, if the caller prefers it.',
    type: 'object',
    required: ['type', 'title', 'detail', ...(error.required as string[])],
    properties: { ...problemMembers(version), ...structuredClone(properties) },
  }
  const own = Object.entries(objectOf(document[OWN_FAILURES])) as [string, OwnWords][]
  if (own.length > 0) addOwnFailures(schemas, own)
  const responses = structuredClone(objectOf(errorResponses))
  for (const [name, response] of Object.entries(responses)) {
    const status = name.slice('Error'.length)
    completeFailure(objectOf(response), status, version, own)
  }
  components.responses = responses
  for (const { operation, path } of operationsIn(document.paths)) {
    const own = objectOf(operation.responses)
    for (const status of isVersioned(path) ? IN_VERSIONS : EVERYWHERE) {
      own[status] ??= ref('responses', `Error${status}`)
    }
  }
}

interface OwnWords {
  readonly status: number
  readonly description: string
}

/** Adds the codes and the member `details` of the service's own failures. */
function addOwnFailures(
  schemas: JsonSchema,
  own: readonly [code: string, words: OwnWords][],
): void {
  const codes = objectOf(schemas.ErrorCode)
  schemas.ErrorCode = { ...codes, ...openSet([...Object.keys(failures), ...own.map(([c]) => c)]) }
  const details = {
    type: 'object',
    description: `Facts about the failure, by its code (\`${OWN_FAILURES}\`).`,
    additionalProperties: true,
  }
  for (const name of ['ErrorBody', 'Problem']) {
    const { properties, ...schema } = objectOf(schemas[name])
    schemas[name] = { ...schema, properties: { ...objectOf(properties), details } }
  }
}

function completeFailure(
  response: JsonSchema,
  status: string,
  version: string,
  own: readonly [code: string, words: OwnWords][],
): void {
  const isEngines = Object.values(failures).some(([other]) => String(other) === status)
  const [ownCode, words] = own.find(([, { status: other }]) => String(other) === status) ?? []
  const code = isEngines || !ownCode ? codeFor(status) : (ownCode as FailureCode)
  const [codeStatus, message] = failures[code] ?? [words!.status, words!.description]
  const documentation = errorPage(version, code)
  const example = {
    error: code,
    message,
    status: codeStatus,
    request_id: 'req_6yCqcYD5VBL7k5BZ',
    documentation,
  }
  const problem = { type: documentation, title: message, detail: message, ...example }
  response.content = {
    'application/json': { schema: { $ref: '#/components/schemas/ErrorBody' }, example },
    'application/problem+json': {
      schema: { $ref: '#/components/schemas/Problem' },
      example: problem,
    },
  }
  addHeaders(response, failureHeaders(status))
}
