/**
 * §6.2, §12.1: the schema of a body in a document and the validation of the server accept the same
 * bodies. Ajv validates by the document as published. A table has what a schema cannot express.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { workshop } from '../../../../test/outside/workshop.ts'
import { isDeep, runsOf } from '../../../../test/rig/depth.ts'
import { addPublicFormats } from '../../../../test/rig/formats.ts'
import { type Caller, openService, type Reply } from '../../../../test/rig/service.ts'
import { hotel } from '../../examples/bookings/service.ts'
import { marketplace } from '../../examples/marketplace/service.ts'
import { api } from '../../service/service.ts'
import type { Service } from '../../src/declare/resources/service.ts'
import { parseDuration } from '../../src/protocol/fields/duration.ts'
import { everyKind } from '../fixtures/every-kind.ts'
import { bodiesOf } from './schema-values.ts'
import { callerOf, exampleValues, type Json, openTargets, targetOf } from './targets.ts'

const RUNS = runsOf(40)
const SEED = 11

/** Failures of a valid body, by their message, and why no schema has their rule. */
const REASONS: readonly (readonly [message: string, reason: string])[] = [
  ['is not the id of a row of \\w+', 'it depends on stored rows'],
  ['departs must be later', 'it compares two members'],
  ['is not a known customer', 'it depends on stored rows'],
  ['does not call the version', 'it depends on stored requests'],
  ['must be one of v1, v2', 'it depends on the day whether a version is retired'],
  ['must (not )?lie in the future.*', 'it depends on the time'],
  ['must (not )?lie (before|after) \\w+', 'it compares two members'],
  ['must be set while sunset_at is', 'one member requires another'],
  ['is only for live \\w+ of the customer "default"', 'some members exclude others'],
  ['is not for public clients.*', 'some members exclude others'],
  ['is not beside jwks', 'some members exclude others'],
  ['is not a JWK set with keys', 'keys have a grammar of their own (RFC 7517)'],
  ['(names no claim of the owner|has an? |needs \\d ).*', 'claims are compared with owners'],
  ['is (oauth-id-jag\\+jwt for persons|for rules with person: email)', 'it compares two members'],
  ['is for clients that were created with keys', 'it depends on stored rows'],
  ['Send a token, or an email and a password\\.', 'some members exclude others'],
  ['must be an e-mail address', 'mail has a grammar of its own (RFC 5321)'],
  ['is required: sha256 and hint belong together', 'one member requires another'],
  ['must be an IP address', 'no format has addresses of both families'],
  ['must be an address or a range, .*', 'no format has ranges of addresses'],
  ['Send a token, or a username and a password\\.', 'some members exclude others'],
  ['The passkey does not match its options: begin again\\.', 'a challenge belongs to it'],
  ['Send refresh_token, or an access token as Bearer\\.', 'a header replaces a member'],
]
const usedReasons = new Set<string>()

const publicAjv = new Ajv2020()
addPublicFormats(publicAjv)
const isInstant = publicAjv.compile({ type: 'string', format: 'date-time' })

/** Returns the instant of a body, which may lack the seconds or the time. */
const completeInstant = (text: string): string =>
  text.length === 'YYYY-MM-DD'.length
    ? `${text}T00:00:00Z`
    : text.replace(/(T\d\d:\d\d)(Z|[+-])/, '$1:00$2')
const sizeOf = (text: string): number => parseDuration(text) ?? Number(text)

/** Also validates the extensions of the document: bounds of numbers in texts, and of JSON. */
function createAjv(): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, validateSchema: false, allErrors: true })
  addPublicFormats(ajv)
  // No clock of a server has leap seconds.
  ajv.addFormat(
    'date-time',
    (text: string) => isInstant(completeInstant(text)) && !text.includes(':60'),
  )
  const compare = (isValid: (value: number, bound: number) => boolean) => ({
    type: 'string' as const,
    validate: (bound: string, text: string) => isValid(sizeOf(text), sizeOf(bound)),
  })
  ajv.addKeyword({ keyword: 'x-minimum', ...compare((value, bound) => value >= bound) })
  ajv.addKeyword({ keyword: 'x-maximum', ...compare((value, bound) => value <= bound) })
  ajv.addKeyword({
    keyword: 'x-max-json-length',
    validate: (max: number, value: unknown) => JSON.stringify(value).length <= max,
  })
  return ajv
}

const CODES = new Set(['validation_failed', 'invalid_request', 'invalid_json'])

/** Returns the failures by which a response rejects a body, or items of a batch. */
const rejectionsOf = ({ body }: Reply): Json[] =>
  [body, ...(body?.items ?? []).map((item: Json) => item.body)].filter((each) =>
    CODES.has(each?.error),
  )

/** Whether a table explains each mistake of a body that the schema accepts. */
const isExplained = (rejections: readonly Json[]): boolean =>
  rejections
    .flatMap(({ errors, message }) => errors?.map((error: Json) => error.message) ?? [message])
    .every((message: string) => {
      const reason = REASONS.find(([pattern]) => new RegExp(`^(${pattern})$`).test(message))
      if (reason) usedReasons.add(reason[0])
      return reason !== undefined
    })

/** Returns the body of a resource without the links of rows, which it may send back. */
function withoutLinks({ _links, ...row }: Json, path: string): Json {
  if (!path.endsWith('/batch')) return row
  const { items } = row
  const isList = Array.isArray(items) && items.every((item) => typeof item === 'object' && item)
  return {
    ...row,
    ...(_links && { _links }),
    ...(isList && { items: items.map((item) => withoutLinks(item, '')) }),
  }
}

interface Target {
  readonly caller: Pick<Caller, 'send'>
  readonly url: string
  readonly headers?: Record<string, string>
}

/** Sends bodies to each operation of a document, and returns the differences from its schemas. */
async function faultsOf(
  document: Json,
  open: (method: string, path: string, operation: Json) => Promise<Target | undefined>,
): Promise<string[]> {
  const ajv = createAjv()
  ajv.addSchema(document, 'document')
  const resolve = (schema: Json): Json =>
    schema.$ref ? resolve(document.components.schemas[schema.$ref.split('/').at(-1)]) : schema
  const faults: string[] = []
  for (const [path, { parameters: _, ...item }] of Object.entries<Json>(document.paths)) {
    for (const [method, operation] of Object.entries<Json>(item)) {
      const schema = operation.requestBody?.content['application/json']?.schema
      const target = schema && (await open(method.toUpperCase(), path, operation))
      if (!target) continue
      const steps = ['paths', path, method, 'requestBody', 'content', 'application/json', 'schema']
      const pointer = steps
        .map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')))
        .join('/')
      const validate = ajv.compile({ $ref: `document#/${pointer}` })
      const bodies = fc.sample(bodiesOf(schema, resolve), { numRuns: RUNS, seed: SEED })
      for (const body of bodies) {
        const text = JSON.stringify(body)
        const { caller, url, headers = {} } = target
        const reply = await caller.send(method.toUpperCase(), url, text, headers)
        assert.ok(reply.status < 500, `${method} ${path} ${text}: ${reply.text}`)
        const isValid = validate(path.startsWith('/api/') ? withoutLinks(body, path) : body)
        const at = `${method} ${path} ${text.slice(0, 300)}`
        const rejections = rejectionsOf(reply)
        if (isValid && !isExplained(rejections)) faults.push(`${at}: rejected: ${reply.text}`)
        if (!isValid && rejections.length === 0)
          faults.push(`${at}: ${reply.status}, ${ajv.errorsText(validate.errors)}`)
      }
    }
  }
  return faults
}

const services: Readonly<Record<string, Service>> = {
  reference: api,
  bookings: hotel,
  marketplace,
  workshop,
  'every kind': everyKind,
}

for (const [title, declared] of Object.entries(services)) {
  for (const { name } of declared.definition.versions) {
    test(`resources of ${title}, ${name}, accept the bodies of their schemas`, async (t) => {
      const { app, send, get } = await openService(t, 'sqlite', { service: declared, seed: true })
      const faults = await faultsOf(app.openapi(name) as Json, async (_method, path) => {
        if (!path.startsWith('/api/')) return undefined
        const rows = await get(path.replace(/\/\{id\}.*/, '?limit=1'))
        const id = path.includes('{id}') ? rows.body.data?.[0]?.id : 0
        if (id === undefined) return undefined
        const headers = { prefer: 'dry-run' }
        return { caller: { send }, url: path.replace('{id}', String(id)), headers }
      })
      assert.deepEqual(faults, [])
    })
  }
}

const NOT_SENT: Readonly<Record<string, string>> = {
  set_clock: 'it exists with the test clock only',
  create_own_operator: 'an operator has to sign in first',
  confirm_second_factor: 'an operator has to sign in first',
  create_operator_passkey: 'an operator has to sign in first',
  register_client: 'an address registers 10 clients; §16.5 has a test of each mistake',
}

for (const name of ['platform', 'admin']) {
  test(`operations of ${name} accept the bodies of their schemas`, async (t) => {
    const targets = await openTargets(t)
    const document = targets.app.app.openapi(name) as Json
    const { access } = await exampleValues(targets)
    const faults = await faultsOf(document, async (_method, path, operation) => {
      const { operationId, security = document.security } = operation
      if (NOT_SENT[operationId] !== undefined) return undefined
      const url = await targetOf(targets, path, operationId)
      return { caller: await callerOf(targets, path, access, security), url }
    })
    assert.deepEqual(faults, [])
  })
}

after(() => {
  if (!isDeep) return // few bodies do not meet every reason
  const unused = REASONS.filter(([message]) => !usedReasons.has(message))
  assert.deepEqual(unused, [])
})
