/**
 * Adds words and examples to the operations of the engine: those of `member-words.ts`, and versions
 * that the service has. The names of a service's own members have no meaning here.
 */
import type { JsonSchema } from '../fields/json-schema.ts'
import { memberWords } from './member-words.ts'
import { ownExample } from './schema-example.ts'
import { objectOf, operationsIn, walkSchemas } from './schema-walk.ts'

export interface DescribedOperations {
  readonly paths: Readonly<Record<string, JsonSchema>>
  /** The named schemas to which the paths refer. */
  readonly schemas: Readonly<Record<string, JsonSchema>>
}

export function addEngineWords(
  described: DescribedOperations,
  versions: readonly string[],
): DescribedOperations {
  // Not structuredClone: it keeps one object where two members share a schema.
  const copy = JSON.parse(JSON.stringify(described)) as DescribedOperations
  const { paths, schemas } = copy
  walkSchemas({ paths, components: { schemas } }, ({ schema, owner, name }) => {
    addWords(schema, owner, name)
    if (schema.examples) schema.examples = inVersions(schema.examples, versions)
  })
  for (const { operation } of operationsIn(paths)) {
    const { content } = objectOf(operation.requestBody)
    const responses = Object.values(objectOf(operation.responses))
    for (const part of [content, ...responses.map((response) => objectOf(response).content)]) {
      for (const media of Object.values(objectOf(part)).map(objectOf)) {
        if (media.example !== undefined) media.example = inVersions(media.example, versions)
      }
    }
  }
  return copy
}

/** Describes the members of an object that have no words of their own. */
export function describeMembers(owner: string, schema: JsonSchema): JsonSchema {
  const properties = Object.entries(objectOf(schema.properties)).map(([name, member]) => {
    const described = { ...objectOf(member) }
    if (described.$ref === undefined) addWords(described, owner, name)
    return [name, described]
  })
  return { ...schema, properties: Object.fromEntries(properties) }
}

function addWords(schema: JsonSchema, owner: string, name: string): void {
  if (name === '') return
  const [description, example] = memberWords(owner, name) ?? []
  if (schema.description === undefined && description !== undefined)
    schema.description = description
  if (ownExample(schema) !== undefined || example === undefined) return
  if (matchesType(schema, example)) schema.examples = [example]
}

/** The words of a name can belong to a member of another type. */
function matchesType({ type }: JsonSchema, value: unknown): boolean {
  const types = [type].flat()
  if (value === null) return types.includes('null')
  if (Array.isArray(value)) return types.includes('array')
  if (typeof value === 'number') return types.includes('integer') || types.includes('number')
  return types.includes(typeof value)
}

/** Examples are written for `v1`, the oldest version, and `v2`, the newest one. */
const VERSION = /\bv[12]\b/g

/** Returns an example with the versions of the service. */
function inVersions(value: unknown, versions: readonly string[]): unknown {
  const nameOf = (word: string) => versions.at(word === 'v1' ? 0 : -1) ?? word
  if (typeof value === 'string') return value.replace(VERSION, nameOf)
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value.map((item) => inVersions(item, versions))
    return items.every((item) => typeof item === 'string') ? [...new Set(items)] : items
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name.replace(VERSION, nameOf),
      inVersions(member, versions),
    ]),
  )
}
