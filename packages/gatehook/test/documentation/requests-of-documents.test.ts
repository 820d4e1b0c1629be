/**
 * §12.1: a service accepts the examples of its documents, and the declared defaults of parameters,
 * which some generated clients send with every request.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { workshop } from '../../../../test/outside/workshop.ts'
import { openService } from '../../../../test/rig/service.ts'
import { hotel } from '../../examples/bookings/service.ts'
import { marketplace } from '../../examples/marketplace/service.ts'
import { api } from '../../service/service.ts'
import type { Service } from '../../src/declare/resources/service.ts'
import { club } from '../fixtures/club.ts'
import { openHook } from '../webhooks/hook.ts'
import type { Json } from './targets.ts'

const services: Readonly<Record<string, Service>> = {
  reference: api,
  bookings: hotel,
  marketplace,
  workshop,
  club,
}

interface Operation extends Json {
  readonly method: string
  readonly path: string
}

/** Returns the operations with the references of their parameters resolved. */
function operationsOf({ paths, components }: Json): Operation[] {
  return Object.entries<Json>(paths).flatMap(([path, { parameters: shared = [], ...methods }]) =>
    Object.entries<Json>(methods).map(([method, operation]) => {
      const parameters = [...shared, ...(operation.parameters ?? [])].map((each: Json) =>
        each.$ref ? components.parameters[each.$ref.split('/').at(-1)] : each,
      )
      return { ...operation, parameters, method: method.toUpperCase(), path }
    }),
  )
}

const documentsOf = ({ definition }: Service) => [
  ...definition.versions.map(({ name }) => name),
  'platform',
  'admin',
]

/** The service validates parameters before it looks for the row. */
const pathOf = ({ path }: Operation) => path.replace(/\{\w+\}/g, '1')

for (const [title, declared] of Object.entries(services)) {
  test(`${title} accepts every declared default, sent literally`, async (t) => {
    const app = await openService(t, 'sqlite', { service: declared })
    const admin = app.as(await app.key({ scopes: ['admin'], mode: 'live' }))
    for (const name of documentsOf(declared)) {
      for (const operation of operationsOf(app.app.openapi(name) as Json)) {
        const defaults = operation.parameters.filter(
          ({ in: place, schema = {} }: Json) => place === 'query' && schema.default !== undefined,
        )
        if (defaults.length === 0) continue
        const entries = defaults.map(({ name, schema }: Json) => [name, String(schema.default)])
        const url = `${pathOf(operation)}?${new URLSearchParams([...entries, ['limit', '5']])}`
        const { status, text } = await admin.send(operation.method, url)
        assert.notEqual(status, 400, `${operation.method} ${url}: ${text}`)
      }
    }
  })

  test(`${title}: each example is valid for its schema`, async (t) => {
    const { app } = await openService(t, 'sqlite', { service: declared })
    for (const name of documentsOf(declared)) {
      const document = JSON.parse(JSON.stringify(app.openapi(name)))
      const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false })
      ajv.addSchema(document, name)
      const faults: string[] = []
      const visit = (node: Json, pointer: string): void => {
        if (typeof node !== 'object' || node === null) return
        const { schema, example, examples } = node
        const check = (at: string, values: Json) => {
          const validate = ajv.compile({ $ref: `${name}#${at}` })
          for (const value of values) {
            if (!validate(value)) faults.push(`${at}: ${ajv.errorsText(validate.errors)}`)
          }
        }
        if (schema && example !== undefined) check(`${pointer}/schema`, [example])
        if (Array.isArray(examples)) check(pointer, examples)
        for (const [key, value] of Object.entries<Json>(node)) {
          if (key === 'example' || key === 'examples') continue
          const step = encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))
          visit(value, `${pointer}/${step}`)
        }
      }
      visit(document, '')
      assert.deepEqual(faults, [], name)
    }
  })

  for (const { name } of declared.definition.versions) {
    test(`${title} accepts the examples of ${name}`, async (t) => {
      const env = { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' }
      const app = await openService(t, 'sqlite', { service: declared, seed: true, env })
      const hook = await openHook(t)
      const webhook = await app.post('/webhooks', { url: hook.url, events: ['*'] })
      assert.equal(webhook.status, 201, webhook.text)
      let sent = 0
      for (const operation of operationsOf(app.app.openapi(name) as Json)) {
        const { method, path, requestBody, responses } = operation
        const isOfWebhook = /^\/webhooks\/\{id\}/.test(path)
        if (!requestBody || (path.includes('{') && !isOfWebhook)) continue
        const [type, { example }] = Object.entries<Json>(requestBody.content)[0]!
        if (example === undefined || !/json/.test(type)) continue
        const body = typeof example.url === 'string' ? { ...example, url: hook.url } : example
        const url = path.replace('{id}', webhook.body.id)
        const reply = await app.send(method, url, body)
        const isDeclared = Object.hasOwn(responses, reply.status) && reply.status < 300
        // The rows of the service or a running replay conflict: the request itself is valid.
        assert.ok(
          isDeclared || reply.status === 409,
          `${method} ${url}: ${JSON.stringify(body)}: ${reply.text}`,
        )
        sent++
      }
      assert.ok(sent > 6, `${sent} examples`)
    })
  }
}
