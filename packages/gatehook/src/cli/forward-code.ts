/**
 * The declarations of `gatehook forward import` (§17.5): a module with a route for each operation
 * of an OpenAPI document of another service. A later import retains edited parts. Pure.
 */
import { hash } from 'node:crypto'
import { isForwardable } from '../declare/resources/forward-check.ts'
import { RESERVED_SEGMENT } from '../declare/resources/route-check.ts'
import { isScopeName } from '../identity/access/scopes.ts'
import {
  fieldsCode,
  type JsonMap,
  memberCode,
  objectOf,
  propertyName,
  quote,
  resolveSchema,
} from './forward-fields.ts'

/** A part of the module, which an import replaces unless it was edited. */
export interface CodeBlock {
  readonly section: 'fields' | 'routes'
  /** `Invoice`, `GET /invoices`. */
  readonly key: string
  readonly code: string
}

interface Generated {
  readonly blocks: readonly CodeBlock[]
  /** Operations that no route can express, with the reason. */
  readonly skipped: readonly string[]
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete']
const JSON_TYPE = 'application/json'

const snakeCase = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/\W+/g, '_')
    .toLowerCase()

const camelCase = (name: string): string => {
  const [first = '', ...rest] = snakeCase(name).split('_').filter(Boolean)
  return first + rest.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('')
}

/** Names of the module, and words that no constant has. */
const RESERVED = new Set(
  (
    'f fields api await break case catch class const continue debugger default delete do else ' +
    'enum export extends false finally for function if implements import in instanceof interface ' +
    'let new null package private protected public return static super switch this throw true ' +
    'try typeof var void while with yield arguments eval'
  ).split(' '),
)

/** Returns the name of the exported function: that of the upstream, unless it is a word. */
export const functionName = (upstream: string): string => {
  const name = camelCase(upstream)
  return RESERVED.has(name) ? `${name}Routes` : name
}

interface ForeignOperation {
  readonly method: string
  readonly path: string
  readonly parameters: readonly JsonMap[]
  readonly operation: JsonMap
}

export function generateForwards(document: JsonMap, upstream: string): Generated {
  const schemas = new Map<string, CodeBlock>()
  const skipped: string[] = []
  const served = new Map<string, string>()
  const routes = operationsOf(document).flatMap((operation): CodeBlock[] => {
    const key = `${operation.method.toUpperCase()} ${operation.path}`
    const paths = pathsOf(operation)
    const address = paths && `${operation.method} ${paths.publicPath.replace(/:\w+/g, ':')}`
    const other = address && served.get(address)
    if (paths && !other) {
      served.set(address!, key)
      const code = routeCode(document, upstream, { ...operation, ...paths }, schemas)
      return [{ section: 'routes', key, code }]
    }
    const reason = other ? `its path would be that of ${other}` : 'a route cannot have this path'
    skipped.push(`${key}: ${reason}`)
    return []
  })
  return { blocks: [...schemas.values(), ...routes], skipped }
}

function operationsOf(document: JsonMap): ForeignOperation[] {
  return Object.entries(objectOf(document.paths)).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = objectOf(item)[method]
      if (operation === undefined) return []
      const given = [objectOf(item).parameters ?? [], objectOf(operation).parameters ?? []].flat()
      const parameters = given.map((parameter) => resolveSchema(document, parameter).schema)
      return { method, path, parameters, operation: objectOf(operation) }
    }),
  )
}

interface RoutePaths {
  readonly upstreamPath: string
  readonly publicPath: string
}

function pathsOf({ path }: ForeignOperation): RoutePaths | undefined {
  const upstreamPath = path.replace(/\{(\w+)\}/g, (_, name) => `:${snakeCase(name)}`)
  const publicPath = publicPathOf(upstreamPath)
  if (publicPath === undefined || !isForwardable(upstreamPath, publicPath)) return undefined
  return { upstreamPath, publicPath }
}

function routeCode(
  document: JsonMap,
  upstream: string,
  { method, upstreamPath, publicPath, parameters, operation }: ForeignOperation & RoutePaths,
  schemas: Map<string, CodeBlock>,
): string {
  const right = method === 'get' ? 'read' : 'write'
  const scope = `${publicPath.split('/')[1]}:${right}`
  const constant = (schema: unknown, isSent: boolean) =>
    constantOf(document, schema, isSent, { schemas, taken: functionName(upstream) })
  const { output, status } = outputOf(document, operation, constant)
  const isStored = method === 'post' || method === 'patch'
  const headers = parameters.filter((parameter) => parameter.in === 'header')
  const names = headers.map(({ name }) => String(name).toLowerCase())
  const members: Record<string, string | undefined> = {
    method: quote(method.toUpperCase()),
    path: quote(publicPath),
    to: quote(upstream),
    upstreamPath: quote(upstreamPath),
    integers: integersCode(document, parameters, upstreamPath),
    scope: quote(isScopeName(scope) ? scope : `api:${right}`),
    summary: typeof operation.summary === 'string' ? quote(operation.summary) : undefined,
    query: queryCode(document, parameters),
    input: method === 'get' ? undefined : inputOf(document, operation, constant),
    output,
    status: status === 200 ? undefined : String(status),
    repeatable: isStored && names.includes('idempotency-key') ? 'true' : undefined,
  }
  const lines = Object.entries(members).filter(([, code]) => code !== undefined)
  const indented = lines.map(([name, code]) => `  ${name}: ${code!.replaceAll('\n', '\n  ')},\n`)
  return `.forward({\n${indented.join('')}})`
}

/** Returns the path of a route: without `/api` and a version, which the API has itself. */
function publicPathOf(path: string): string | undefined {
  const segments = path.split('/').filter(Boolean)
  while (segments[0] === 'api' || /^v\d+$/.test(segments[0] ?? '')) segments.shift()
  const isName = (segment: string) => segment.startsWith(':') || /^[\w-]+$/.test(segment)
  if (segments.length === 0 || !segments.every(isName)) return undefined
  const named = segments.map((name) => (name.startsWith(':') ? name : snakeCase(name)))
  const isPath = named.every((name) => /^:?[a-z][a-z0-9_-]*$/.test(name))
  return isPath && !RESERVED_SEGMENT.test(named[0]!) ? `/${named.join('/')}` : undefined
}

/** Returns the list of the parameters of the path whose schema is an integer. */
function integersCode(
  document: JsonMap,
  parameters: readonly JsonMap[],
  path: string,
): string | undefined {
  const isInteger = ({ schema }: JsonMap) =>
    resolveSchema(document, schema).schema.type === 'integer'
  const names = parameters
    .filter((parameter) => parameter.in === 'path' && isInteger(parameter))
    .map(({ name }) => snakeCase(String(name)))
    .filter((name) => path.split('/').includes(`:${name}`))
  return names.length === 0 ? undefined : `[${names.map(quote).join(', ')}]`
}

function queryCode(document: JsonMap, parameters: readonly JsonMap[]): string | undefined {
  const inQuery = parameters.filter((parameter) => parameter.in === 'query')
  if (inQuery.length === 0) return undefined
  const codes = inQuery.map(({ name, schema, required }) => {
    const { type } = resolveSchema(document, schema).schema
    const isValue = ['string', 'integer', 'number', 'boolean'].includes(String(type))
    const use = { isRequired: required === true, isSent: true }
    const isName = /^[a-z]\w*$/i.test(String(name))
    return isValue && isName
      ? `${propertyName(String(name))}: ${memberCode(document, schema, use)}`
      : undefined
  })
  return codes.includes(undefined) ? "'pass'" : `{\n  ${codes.join(',\n  ')},\n}`
}

type ConstantOf = (schema: unknown, isSent: boolean) => string | undefined

function inputOf(document: JsonMap, { requestBody }: JsonMap, constant: ConstantOf) {
  const content = objectOf(resolveSchema(document, requestBody).schema.content)
  const json = objectOf(content[JSON_TYPE]).schema
  return json === undefined ? undefined : constant(json, true)
}

function outputOf(document: JsonMap, { responses }: JsonMap, constant: ConstantOf) {
  const statuses = Object.keys(objectOf(responses)).filter((status) => /^2\d\d$/.test(status))
  const [status = '200'] = statuses.sort()
  const response = resolveSchema(document, objectOf(responses)[status]).schema
  const schema = objectOf(objectOf(response.content)[JSON_TYPE]).schema
  if (schema === undefined) return { output: undefined, status: Number(status) }
  const { schema: resolved, isNullable } = resolveSchema(document, schema)
  const isList = resolved.type === 'array' && !isNullable
  const item = constant(isList ? resolved.items : schema, false)
  return { output: isList && item ? `[${item}]` : item, status: Number(status) }
}

interface Constants {
  readonly schemas: Map<string, CodeBlock>
  /** The name of the exported function. */
  readonly taken: string
}

/** Returns the name of a component's fields, which it adds to the module; else their code. */
function constantOf(
  document: JsonMap,
  given: unknown,
  isSent: boolean,
  { schemas, taken }: Constants,
): string | undefined {
  const code = fieldsCode(document, given, isSent)
  const component = /^#\/components\/schemas\/(\w+)$/.exec(String(objectOf(given).$ref))?.[1]
  if (code === undefined || component === undefined) return code
  const key = isSent ? `${component} (sent)` : component
  const own = camelCase(component) + (isSent ? 'Input' : '')
  const name = /^[a-z]/.test(own) && own !== taken && !RESERVED.has(own) ? own : `${own}Fields`
  const block: CodeBlock = { section: 'fields', key, code: `const ${name} = ${code}` }
  const others = [...schemas.values()].filter((other) => other.key !== key)
  // Names that differ in case alone, or in the suffix, have the fields in place.
  if (others.some((other) => other.code.startsWith(`const ${name} = `))) return code
  schemas.set(key, block)
  return name
}

const PACKAGE = 'gatehook'
const INDENT = { fields: '', routes: '    ' } as const
const hashOf = (code: string): string =>
  hash('sha256', code.replace(/\s+/g, ' ').trim()).slice(0, 8)

const markedBlock = ({ section, key, code }: CodeBlock, body = code): string => {
  const indent = INDENT[section]
  const indented = body === code ? indent + code.replaceAll('\n', `\n${indent}`) : body
  const space = section === 'fields' ? '\n\n' : '\n'
  return `${indent}// openapi: ${key} ${hashOf(code)}\n${indented.replace(/\n*$/, space)}`
}

const END = {
  fields: '// openapi: end of fields',
  routes: '    // openapi: end of routes',
} as const

/** Returns the module of a first import. */
export function forwardModule(
  upstream: string,
  blocks: readonly CodeBlock[],
  isTyped: boolean,
): string {
  const codeOf = (section: CodeBlock['section']) =>
    blocks
      .filter((block) => block.section === section)
      .map((block) => markedBlock(block))
      .join('')
  const [types, signature] = isTyped
    ? [
        ', type Service, type ServiceWords',
        '<E extends string, W extends ServiceWords>(api: Service<E, W>)',
      ]
    : ['', '(api)']
  return `// Written by gatehook forward import. Edit it: a later import retains edited parts, and
// prints the changes of the document. Lines that begin with "// openapi:" belong to it.
import { f, fields${types} } from '${PACKAGE}'

${codeOf('fields')}${END.fields}

export const ${functionName(upstream)} = ${signature} =>
  api
${codeOf('routes')}${END.routes}
`
}

interface Merged {
  readonly text: string
  /** The changes of the document, as lines for a person. */
  readonly differences: readonly string[]
}

const MARKER = /^[ \t]*\/\/ openapi: (.+) ([0-9a-f]{8})$/

/** Counts the operations of a module, also those that the document no longer has. */
export function countRoutes(text: string): number {
  const [, behindFields = ''] = text.split(END.fields)
  const [routes = ''] = behindFields.split(END.routes.trim())
  return routes.split('\n').filter((line) => MARKER.test(line)).length
}

/** Merges a document into an earlier module; undefined if that lacks the lines of an import. */
export function mergeForwards(earlier: string, blocks: readonly CodeBlock[]): Merged | undefined {
  const lines = earlier.split('\n')
  const added = new Map(blocks.map((block) => [block.key, block]))
  const differences: string[] = []
  const text: string[] = []
  const ends = Object.entries(END) as [CodeBlock['section'], string][]
  if (!ends.every(([, end]) => lines.some((line) => line.trim() === end.trim()))) return undefined
  for (let at = 0; at < lines.length; ) {
    const line = lines[at]!
    const [section] = ends.find(([, end]) => end.trim() === line.trim()) ?? []
    if (section) {
      for (const block of [...added.values()].filter((block) => block.section === section)) {
        differences.push(`+ ${block.key}`)
        text.push(markedBlock(block).replace(/\n$/, ''))
      }
    }
    const [, key, former] = MARKER.exec(line) ?? []
    const end = lines.findIndex((next, n) => n > at && /^[ \t]*\/\/ openapi: /.test(next))
    if (key === undefined || end < 0) {
      text.push(line)
      at++
      continue
    }
    const body = lines.slice(at + 1, end).join('\n')
    at = end
    const block = added.get(key)
    added.delete(key)
    if (!block || hashOf(block.code) === former) {
      if (!block) differences.push(`- ${key} is no longer in the document; it stays here`)
      text.push(line, body)
      continue
    }
    const isEdited = hashOf(body) !== former
    differences.push(`~ ${key}${isEdited ? ' (edited here, and kept)' : ''}`)
    differences.push(...lineDifference(body, block.code))
    text.push(markedBlock(block, isEdited ? `${body}\n` : undefined).replace(/\n$/, ''))
  }
  return { text: text.join('\n'), differences }
}

/** Returns the lines that one text has and the other lacks. */
function lineDifference(before: string, after: string): string[] {
  const [old, next] = [before, after].map((text) => text.split('\n').map((line) => line.trim()))
  return [
    ...old!.filter((line) => !next!.includes(line)).map((line) => `    - ${line}`),
    ...next!.filter((line) => !old!.includes(line)).map((line) => `    + ${line}`),
  ]
}
