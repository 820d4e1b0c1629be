/**
 * The module `virtual:operation-bodies`: the bodies of the operations, from the OpenAPI documents.
 * Forms of the pages follow from it (`src/forms/`), so that a new member of a body is a field.
 */
import { readFileSync } from 'node:fs'
import type { BodyMember } from './src/forms/operation-body.ts'

interface OperationBody {
  readonly method: string
  readonly members: readonly BodyMember[]
}

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly enum?: readonly (string | null)[]
  readonly maxLength?: number
  readonly description?: string
  readonly items?: Schema
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
}

interface Operation {
  readonly operationId: string
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: Schema }>>
  }
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const DOCUMENTS = ['platform', 'admin'] as const

/** Documents give every text without a bound of its own the size of a body. */
const BODY_BYTES = 1_048_576

/** The values of these members are declared by a service: their inputs load them. */
const DECLARED = ['scopes', 'can', 'events', 'event_type', 'event_types', 'api_version']

/** Returns the words of a description for a hint: rules and code are for documents. */
const plainWords = (text: string): string =>
  text.replace(/ \((§|RFC )[^)]*\)/g, '').replaceAll('`', '')

function memberOf(name: string, schema: Schema, required: boolean): BodyMember {
  const types = [schema.type ?? 'object'].flat()
  const { format, maxLength: max, description, items: object = schema } = schema
  const values = DECLARED.includes(name) ? undefined : (schema.enum ?? schema.items?.enum)
  return {
    name,
    json: types.find((type) => type !== 'null')!,
    required,
    nullable: types.includes('null'),
    ...(format !== undefined && { format }),
    ...(values && { values: values.filter((value) => value !== null) }),
    ...(max !== undefined && max < BODY_BYTES && { max }),
    ...(description !== undefined && { describe: plainWords(description) }),
    ...(object.properties && { members: membersOf(object) }),
  }
}

/** Returns the members of an object. */
export const membersOf = ({ properties = {}, required = [] }: Schema): BodyMember[] =>
  Object.entries(properties).map(([name, schema]) =>
    memberOf(name, schema, required.includes(name)),
  )

/** The operations of these pages. */
const PATHS = /^\/(admin|webhooks|portal\/api)\b/

function bodiesOf({ paths, components }: Document): Record<string, OperationBody> {
  const bodies: Record<string, OperationBody> = {}
  for (const [path, operations] of Object.entries(paths)) {
    if (!PATHS.test(path)) continue
    for (const [method, { operationId, requestBody }] of Object.entries(operations)) {
      const schema = requestBody?.content['application/json']?.schema
      if (!schema) continue
      const resolved = schema.$ref ? components.schemas[schema.$ref.split('/').at(-1)!]! : schema
      bodies[operationId] = { method: method.toUpperCase(), members: membersOf(resolved) }
    }
  }
  return bodies
}

const read = (name: string): Document =>
  JSON.parse(readFileSync(new URL(`../../spec/openapi/${name}.json`, import.meta.url), 'utf8'))

/** Returns the bodies of the operations by id. */
export const readBodies = (): Record<string, OperationBody> =>
  Object.assign({}, ...DOCUMENTS.map((name) => bodiesOf(read(name))))

const MODULE = 'virtual:operation-bodies'

/** A plugin of Vite. */
export const operationBodies = {
  name: 'gatehook-operation-bodies',
  resolveId: (id: string) => (id === MODULE ? `\0${MODULE}` : undefined),
  load: (id: string) =>
    id === `\0${MODULE}` ? `export const bodies = ${JSON.stringify(readBodies())}` : undefined,
}
