/**
 * Validates the JSON responses of the engine's operations by the schemas of its OpenAPI documents
 * (§12.1). Objects are closed here: a response must not have members that the document lacks.
 */
import assert from 'node:assert/strict'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { App } from '../../packages/gatehook/src/app.ts'
import { addPublicFormats } from './formats.ts'

type Json = Readonly<Record<string, unknown>>

interface Operation {
  readonly template: string
  readonly pattern: RegExp
  readonly method: string
  readonly responses: Json
  readonly document: string
}

export interface CheckedReply {
  readonly status: number
  readonly type: string
  readonly text: string
}

/** The mounts under which operators and customers reach public operations. */
const MOUNT = /^\/(admin\/as\/[^/]+\/[^/]+|portal\/api)(?=\/(events|webhooks|deliveries)\b)/
type ResponseCheck = (method: string, url: string, reply: CheckedReply) => void

const checks = new WeakMap<object, ResponseCheck>()

/** Returns the check of an app. Apps of one service have the same documents, and share a check. */
export function responseCheckOf(app: Pick<App, 'openapi' | 'service'>): ResponseCheck {
  const check = checks.get(app.service) ?? createResponseCheck(app)
  checks.set(app.service, check)
  return check
}

/** Creates a check by documents. It throws for a response that differs from its declaration. */
export function createResponseCheck(app: Pick<App, 'openapi'>): ResponseCheck {
  const operationsOf = new Map<string, readonly Operation[]>()
  // The schemas of a document are not at its top: a check of the document itself finds nothing.
  const ajv = new Ajv2020({
    strict: false,
    validateSchema: false,
    allErrors: true,
  })
  addPublicFormats(ajv)
  const validators = new Map<string, ValidateFunction>()

  const load = (document: string): readonly Operation[] => {
    const content = closed(app.openapi(document)) as Json & { paths: Record<string, Json> }
    ajv.addSchema(content, document)
    return Object.entries(content.paths).flatMap(([template, item]) =>
      Object.entries(item).map(([method, operation]) => ({
        template,
        pattern: new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`),
        method: method.toUpperCase(),
        responses: (operation as { responses: Json }).responses,
        document,
      })),
    )
  }

  const validatorOf = ({ document, template, method }: Operation, status: number) => {
    const path = ['paths', template, method.toLowerCase(), 'responses', String(status)]
    const $ref = `${document}#/${[...path, 'content', 'application/json', 'schema']
      .map((name) => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1')))
      .join('/')}`
    const cached = validators.get($ref) ?? ajv.compile({ $ref })
    validators.set($ref, cached)
    return cached
  }

  return (method: string, url: string, { status, type, text }: CheckedReply): void => {
    const [path = '', query = ''] = url.split('?') as [string, string?]
    const isSelection = /(^|&)fields=/.test(query)
    if (status < 200 || status > 299 || isSelection) return
    const name = path.replace(MOUNT, '')
    const document = documentOf(name)
    const operations = operationsOf.get(document) ?? load(document)
    operationsOf.set(document, operations)
    const isMatch = (operation: Operation) =>
      operation.method === method && operation.pattern.test(name)
    const matches = operations.filter(isMatch).sort((a, b) => parameters(a) - parameters(b))
    const [operation] = matches
    if (!operation) return
    const place = `${method} ${operation.template} ${status}`
    assert.ok(Object.hasOwn(operation.responses, status), `${place} is not declared`)
    if (!/\bjson\b/.test(type) || text === '') return
    const validate = validatorOf(operation, status)
    const body = withoutLinks(JSON.parse(text))
    assert.ok(validate(body), `${place}: ${ajv.errorsText(validate.errors)}\n${text}`)
  }
}

const documentOf = (path: string) => (/^\/(admin|console)(\/|$)/.test(path) ? 'admin' : 'platform')

const parameters = ({ template }: Operation): number => template.split('{').length

/** Closes every object with declared members. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema).map(([name, value]) => [name, closed(value)] as const)
  const node: Json = Object.fromEntries(entries)
  const isObject = 'properties' in node && [node.type].flat().includes('object')
  return isObject && !('additionalProperties' in node)
    ? { ...node, additionalProperties: false }
    : node
}

/** Removes the members that any response can have: `_links` of rows, `_warnings` (§7.2, §8.6). */
function withoutLinks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutLinks)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== '_links' && name !== '_warnings')
      .map(([name, member]) => [name, withoutLinks(member)]),
  )
}
