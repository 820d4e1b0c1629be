/** Finds mistakes in the declaration of a route, also those of plain JavaScript. Pure. */

import { duplicatesIn } from '../../protocol/fields/declaration-mistakes.ts'
import { Field, type FieldSpec, type Fields } from '../../protocol/fields/fields.ts'
import { isSentence } from '../../protocol/fields/json-value.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import { defaultLimits } from '../../protocol/http/exchange.ts'
import { engineParameters } from '../../protocol/http/query.ts'
import { endpointActions } from './action.ts'
import { hasApi, ownCodeAlone, withApi } from './api-resources.ts'
import { findInputMistakes, findOutputMistakes } from './body-check.ts'
import { findMemberMistakes, type OutputMembers } from './body-fields.ts'
import { bodyChanges, type DeclaredMembers, newestMembers } from './body-versions.ts'
import { findBodySizeMistakes, findMediaMistakes, isMedia } from './media.ts'
import { type AnyResource, Resource, type ResourceDefinition } from './resource.ts'
import { type RouteDefinition, statusesOf } from './route.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
/** First segments under `/api` that the engine uses, or that look like a version. */
export const RESERVED_SEGMENT = /^(protected|latest|stable|v\d.*|\d.*)$/
/** Headers that the engine sets, or that change the framing of the response. */
const RESERVED_HEADERS = new Set(
  (
    'content-length content-type content-encoding transfer-encoding connection keep-alive ' +
    'trailer upgrade set-cookie etag vary link x-request-id x-api-version ' +
    'strict-transport-security'
  ).split(' '),
)
export const HEADER_NAME = /^[A-Za-z][A-Za-z0-9-]*$/

/** Returns a sentence for the developer per mistake. */
export function findRouteMistakes(
  route: RouteDefinition,
  resources: readonly ResourceDefinition[],
  versions: readonly string[],
): string[] {
  return [
    ...pathMistakes(route, resources),
    ...partMistakes(route),
    ...stepMistakes(route),
    ...sizeMistakes(route),
    ...fieldsMistakes('query', route.query, versions),
    ...inputMistakes(route, resources, versions),
    ...outputMistakes(route, resources, versions),
    ...responseMistakes(route),
  ].map((mistake) => `route ${String(route.method)} ${String(route.path)}: ${mistake}`)
}

function pathMistakes({ path }: RouteDefinition, resources: readonly ResourceDefinition[]) {
  const [root, first, ...rest] = String(path).split('/')
  const segments = [first ?? '', ...rest]
  if (root !== '' || !segments.every((segment) => /^:?[a-z][a-z0-9_-]*$/.test(segment))) {
    return ['paths look like /reports/daily or /reports/:id']
  }
  const [twice] = duplicatesIn(segments.filter((segment) => segment.startsWith(':')))
  if (twice !== undefined) return [`${twice} occurs twice in the path`]
  if (RESERVED_SEGMENT.test(first!)) return [`/${first} is taken`]
  const owner = withApi(resources).find(({ name }) => name === first)
  if (owner && rest.length < 2) return [`/${first} belongs to the resource of that name`]
  const [id, operation, ...more] = rest
  if (!owner || more.length > 0 || !id!.startsWith(':')) return []
  const names = [
    ...(owner.softDeletion ? ['restore'] : []),
    ...endpointActions(owner).map(({ name }) => name),
  ]
  return names.includes(operation!) ? [`${operation} is an action of ${first}`] : []
}

/** Reports routes with one path: its methods are different, and its parameters are not. */
export function findDuplicateRoutes(routes: readonly RouteDefinition[]): string[] {
  const keys = routes.map(({ path }) => String(path).replaceAll(/:[^/]+/g, ':'))
  return routes.flatMap(({ method, path }, index) => {
    const earlier = routes.filter((_, at) => at < index && keys[at] === keys[index])
    const where = `route ${String(method)} ${String(path)}`
    if (earlier.some((other) => other.method === method)) return [`${where}: is declared twice`]
    const other = earlier.find((other) => other.path !== path)
    return other ? [`${where}: another route names its parameters as in ${other.path}`] : []
  })
}

function partMistakes({ method, scope, summary, input, handle, mcp }: RouteDefinition): string[] {
  const mistakes: string[] = []
  if (!METHODS.includes(method)) mistakes.push(`method is one of ${METHODS.join(', ')}`)
  if (typeof scope !== 'string' || scope === '') mistakes.push('scope is required')
  if (!isSentence(summary)) mistakes.push('summary is required')
  if (mcp !== undefined && typeof mcp !== 'boolean') mistakes.push('mcp is true or false')
  if (typeof handle !== 'function') mistakes.push('handle is a function')
  if (method === 'GET' && input !== undefined) mistakes.push('a GET has no body: declare query')
  return mistakes
}

/** The longest attempt: proxies and callers end requests that take longer. */
const TIMEOUT_MAX_MS = 60_000

function stepMistakes({ method, steps, timeoutMs }: RouteDefinition): string[] {
  const mistakes: string[] = []
  if (steps !== undefined && typeof steps !== 'boolean') mistakes.push('steps is true or false')
  if (steps && method !== 'POST' && method !== 'PATCH') {
    mistakes.push(`a ${method} has no steps: use POST or PATCH`)
  }
  if (timeoutMs === undefined) return mistakes
  if (!steps) mistakes.push('timeoutMs is of a route with steps')
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > TIMEOUT_MAX_MS) {
    mistakes.push(`timeoutMs is from 1 to ${TIMEOUT_MAX_MS}`)
  }
  return mistakes
}

function sizeMistakes({ method, steps, maxBodyBytes }: RouteDefinition): string[] {
  if (maxBodyBytes === undefined) return []
  if (method === 'GET') return ['a GET has no body, and no maxBodyBytes']
  if (!steps || findBodySizeMistakes(maxBodyBytes).length > 0) {
    return findBodySizeMistakes(maxBodyBytes)
  }
  return findBodySizeMistakes(maxBodyBytes, defaultLimits.bodyBytes).map(
    (mistake) => `${mistake}: a route with steps stores its request`,
  )
}

function inputMistakes(
  { input }: RouteDefinition,
  resources: readonly ResourceDefinition[],
  versions: readonly string[],
): string[] {
  if (input && isMedia(input)) return findMediaMistakes('input', input)
  if (input instanceof Resource) return unknownResource('input', input, resources)
  return fieldsMistakes('input', input, versions)
}

/** Reports the mistakes of a query or an input: it consists of fields, in every version. */
function fieldsMistakes(
  part: 'query' | 'input',
  declared: DeclaredMembers | undefined,
  versions: readonly string[],
): string[] {
  if (declared === undefined) return []
  if (typeof declared !== 'object' || declared === null) return [`${part} is an object of fields`]
  const forms = [newestMembers(declared), ...bodyChanges(declared).map(({ had }) => had)]
  const mistakes = forms.flatMap((members) =>
    Object.entries(members)
      .filter(([, member]) => !(member instanceof Field))
      .map(([name]) => `${name} is not a field, for example f.string()`),
  )
  if (mistakes.length > 0) return mistakes
  if (part === 'query') {
    const names = new Set(forms.flatMap((members) => Object.keys(members)))
    const taken = [...names].filter((name) => engineParameters.has(name))
    if (taken.length > 0) return taken.map((name) => `query: ${name} is of every request`)
  }
  const nested = Object.entries(newestMembers(declared) as Fields)
    .filter(([, { spec }]) => part === 'query' && isNested(spec))
    .map(([name]) => `query: ${name} is an object or an array, which no parameter can be`)
  if (nested.length > 0) return nested
  return findInputMistakes(declared, versions).map((mistake) => `${part}: ${mistake}`)
}

/** Whether a field is an object with declared members, or an array. */
const isNested = (spec: FieldSpec): boolean =>
  spec.members !== undefined || (spec.items !== undefined && !fieldKindOf(spec).isMap)

function outputMistakes(
  { output }: RouteDefinition,
  resources: readonly ResourceDefinition[],
  versions: readonly string[],
): string[] {
  if (output === undefined) return []
  if (isMedia(output)) return findMediaMistakes('output', output)
  if (output instanceof Resource) return unknownResource('output', output, resources)
  if (typeof output !== 'object' || output === null || Array.isArray(output)) {
    return ['output is a resource, an object of members, or {media}']
  }
  const declared = output as DeclaredMembers
  const forms = [newestMembers(declared), ...bodyChanges(declared).map(({ had }) => had)]
  const mistakes = forms.flatMap((members) => [
    ...findMemberMistakes(members).map((mistake) => `output: ${mistake}`),
    ...resourcesIn(members).flatMap((resource) => unknownResource('output', resource, resources)),
  ])
  if (mistakes.length > 0) return mistakes
  return findOutputMistakes(declared, versions).map((mistake) => `output: ${mistake}`)
}

const resourcesIn = (members: OutputMembers): AnyResource[] =>
  Object.values(members)
    .flatMap((member) => member as AnyResource)
    .filter((member) => member instanceof Resource)

const unknownResource = (
  part: 'input' | 'output',
  { definition }: AnyResource,
  resources: readonly ResourceDefinition[],
): string[] => {
  // The service adds indexes to a definition, whose fields stay the same object.
  if (!resources.some(({ fields }) => fields === definition.fields)) {
    return [`${part}: ${definition.name} is not the resource of that name in this service`]
  }
  return hasApi(definition) ? [] : [`${part}: ${ownCodeAlone(definition)}; declare fields instead`]
}

export const isReservedHeader = (name: string): boolean =>
  RESERVED_HEADERS.has(name) || name.startsWith('access-control-')

function responseMistakes(route: RouteDefinition): string[] {
  const { status = 200, headers = {} } = route
  const mistakes: string[] = []
  if (typeof status !== 'number' && !Array.isArray(status)) {
    return ['status is a number, or an array of numbers']
  }
  if (typeof headers !== 'object' || headers === null) {
    return ["headers is an object of sentences: { 'x-total': 'The number of rows.' }"]
  }
  for (const status of statusesOf(route)) {
    const isSuccess = Number.isInteger(status) && status >= 200 && status <= 299
    if (!isSuccess) mistakes.push(`status ${status}: is not from 200 to 299; throw a Failure`)
    else if (route.output && (status === 204 || status === 205)) {
      mistakes.push(`status ${status}: has no body, and the route has an output`)
    }
  }
  for (const name of Object.keys(headers)) {
    if (!HEADER_NAME.test(name)) mistakes.push(`headers: ${name} is not a header`)
    else if (isReservedHeader(name.toLowerCase())) {
      mistakes.push(`headers: the engine sets ${name}`)
    }
  }
  return mistakes
}
