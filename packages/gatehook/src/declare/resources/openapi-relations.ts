/** Describes `expand` in the OpenAPI document of a version: its parameter and its members. Pure. */

import type { JsonSchema } from '../../protocol/fields/json-schema.ts'
import { idSchema } from '../../protocol/fields/kinds/row-id-kind.ts'
import { EXPAND } from '../../protocol/lists/expanded-page.ts'
import { ref } from '../../protocol/openapi/parts.ts'
import type { ApiEntry } from './catalog-entry.ts'
import { ITEMS } from './inner-references.ts'
import { schemaName } from './openapi-words.ts'
import {
  EXPAND_DEPTH_MAX,
  EXPAND_RELATIONS_MAX,
  expandableRelations,
  type InnerRelation,
  isInner,
} from './relations.ts'
import type { ResourceDefinition } from './resource.ts'

type Entries = ReadonlyMap<string, ApiEntry>

/** Most paths that a document lists; beyond, the paths of one level. */
const PATHS_MAX = 50

const relationsIn = ({ definition, shapes }: ApiEntry, version: string) =>
  expandableRelations(definition, shapes.get(version)!)

/** Returns the paths of at most `depth` levels; each of them can be expanded. */
function pathsOf(entry: ApiEntry, version: string, entries: Entries, depth: number): string[] {
  return relationsIn(entry, version).flatMap(({ name, target }) => {
    const further = depth > 1 ? pathsOf(entries.get(target)!, version, entries, depth - 1) : []
    return [name, ...further.slice(0, PATHS_MAX).map((path) => `${name}.${path}`)]
  })
}

/** Returns the parameter `expand`; none for a resource that refers to no other. */
export function expandParameters(entry: ApiEntry, version: string, entries: Entries): JsonSchema[] {
  const paths = pathsOf(entry, version, entries, EXPAND_DEPTH_MAX)
  if (paths.length === 0) return []
  const words = paths.length > PATHS_MAX ? pathsOf(entry, version, entries, 1) : paths
  const description =
    'The rows to include to which a row refers. The credential needs the scope to read them. ' +
    'Where the caller cannot reach a row, the member has its id.'
  const items = { type: 'string', ...(words === paths && { enum: words }) }
  return [
    {
      name: EXPAND,
      in: 'query',
      description,
      style: 'form',
      explode: false,
      schema: { type: 'array', items, maxItems: EXPAND_RELATIONS_MAX },
    },
  ]
}

const INTEGER = { type: 'integer', minimum: 1 }

/** Returns the schema of a member that has the id instead of the row. */
function idForm({ fields }: ResourceDefinition, isNullable: boolean): JsonSchema {
  const { id } = fields
  const { type, ...form } = id!.idPrefix === undefined ? INTEGER : idSchema(id!)
  const description = 'The id of the row.'
  return { title: 'id', ...form, description, type: isNullable ? [type, 'null'] : type }
}

type Properties = Readonly<Record<string, JsonSchema>>

/** Returns the members of a row with those that `expand` adds or replaces. */
export function withExpanded(
  properties: Properties,
  entry: ApiEntry,
  version: string,
  entries: Entries,
): Properties {
  let members = properties
  for (const relation of relationsIn(entry, version)) {
    const { name, target, isNullable } = relation
    const { definition } = entries.get(target)!
    const forms = [
      idForm(definition, isNullable),
      { title: 'row', ...ref('schemas', schemaName(definition)) },
    ]
    const description = `With \`${EXPAND}=${name}\`: the row of \`${target}\`, or its id.`
    const schema = { description, readOnly: true, 'x-open-set': true, oneOf: forms }
    members = isInner(relation)
      ? {
          ...members,
          [relation.replaces]: schemaWith(members[relation.replaces]!, relation, schema),
        }
      : { ...members, [name]: schema }
  }
  return members
}

/** Returns the schema of a field with the member or item that has a row. */
function schemaWith(
  field: JsonSchema,
  { steps, member }: InnerRelation,
  added: JsonSchema,
): JsonSchema {
  const place = member === undefined ? steps : [...steps.slice(0, -1), member]
  const change = (
    schema: JsonSchema | undefined,
    [step, ...rest]: readonly string[],
  ): JsonSchema => {
    if (step === undefined) return added
    if (step === ITEMS) return { ...schema, items: change(schema?.items as JsonSchema, rest) }
    const properties = schema?.properties as Properties
    return { ...schema, properties: { ...properties, [step]: change(properties[step], rest) } }
  }
  return change(field, place)
}
