/** Texts of OpenAPI and docs that follow from a declaration: names, fields, access. Pure. */

import { exceedsEvents } from '../../protocol/fields/event-texts.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import type { JsonSchema } from '../../protocol/fields/json-schema.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import { isReservedComponent } from '../../protocol/openapi/component-names.ts'
import { type ApiResource, hasApi } from './api-resources.ts'
import { signInResource } from './directory.ts'
import { allScope, ownerPathOf, type RowOperation } from './ownership.ts'
import { type ResourceDefinition, STATE_FIELD } from './resource.ts'
import { PUBLIC } from './scopes.ts'
import type { VersionShape } from './shape.ts'

const pascalCase = (name: string): string =>
  name.replace(/(?:^|_)([a-z0-9])/g, (_all, letter: string) => letter.toUpperCase())

/** Returns `line_item`, or `error_row` for a name that tools or the engine have already. */
const componentWords = ({ singular }: ResourceDefinition): string =>
  isReservedComponent(pascalCase(singular)) ? `${singular}_row` : singular

/** Returns `LineItem`, the name of its schema. */
export const schemaName = (definition: ResourceDefinition): string =>
  pascalCase(componentWords(definition))

/** Returns `create_line_item`, the id of an operation on one row. */
export const operationOn = (verb: string, definition: ResourceDefinition): string =>
  `${verb}_${componentWords(definition)}`

/** Returns `list_line_items`, the id of an operation on the collection. */
export const operationOnAll = (verb: string, definition: ResourceDefinition): string => {
  const { name, singular } = definition
  const words = componentWords(definition)
  return `${verb}_${words === singular ? name : `${words}s`}`
}

/** Returns `line item`. */
export const singularWords = ({ singular }: ResourceDefinition): string =>
  singular.replaceAll('_', ' ')

/** Words with a vowel that is spoken as a consonant: a user, a unit, a European. */
const CONSONANT_SOUND = /^(?:eu|one|u[bcst][aeiou]|uni)/i

/** Returns `an order`, `a user`. */
export const withArticle = (words: string): string =>
  `${/^[aeiou]/i.test(words) && !CONSONANT_SOUND.test(words) ? 'an' : 'a'} ${words}`

const capitalize = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

/** Returns `Pay an order`, or `Mark as paid: an order` for a name of several words. */
export function actionTitle(action: string, definition: ResourceDefinition): string {
  const words = action.replace(/[_-]+/g, ' ')
  const object = withArticle(singularWords(definition))
  return capitalize(words.includes(' ') ? `${words}: ${object}` : `${words} ${object}`)
}

/** Returns the declared description of a field, or a sentence from its kind and rules. */
export function describeField(name: string, spec: FieldSpec): string {
  const unit = spec.unit === undefined ? [] : [`Unit: ${spec.unit}.`]
  return [describeValue(name, spec), ...unit, ...describeRights(spec)].join(' ')
}

function describeRights(spec: FieldSpec): string[] {
  const { isWriteOnly, visibleTo, writableBy } = spec
  const sentences = [
    isWriteOnly && 'No response returns it.',
    visibleTo !== undefined && `Only callers with the scope \`${visibleTo}\` receive it.`,
    writableBy !== undefined && `Only callers with the scope \`${writableBy}\` write it.`,
    exceedsEvents(spec) && 'Events do not have it.',
  ]
  return sentences.filter((sentence) => typeof sentence === 'string')
}

function describeValue(name: string, spec: FieldSpec): string {
  if (spec.description) return spec.description
  if (spec.stamp === 'created') return 'The instant at which the server created the row.'
  if (spec.stamp === 'updated') return 'The instant of the last change of the row.'
  if (spec.stamp === 'deleted') return 'The instant of the deletion; null while the row exists.'
  const rules = [
    fieldKindOf(spec).words?.(spec) ?? `The ${name.replaceAll('_', ' ')}.`,
    spec.owner && 'The row belongs to this person.',
    spec.unique && 'Two rows cannot have the same value.',
    spec.isWriteOnce && 'It is set when the row is created, and never changes.',
    spec.computed && 'The server computes it.',
    spec.write === 'never' && name === STATE_FIELD && 'Actions change it.',
  ]
  return rules.filter((rule) => typeof rule === 'string').join(' ')
}

/** Returns the schema of an object with a description and an example for each member. */
export function annotateSchema(schema: JsonSchema, specs: FieldSpecs, example: object): JsonSchema {
  const values = example as Record<string, unknown>
  const properties = Object.entries(schema.properties as Record<string, JsonSchema>).map(
    ([name, member]) => [name, annotateMember(member, name, specs[name]!, values[name])],
  )
  return { ...schema, properties: Object.fromEntries(properties) }
}

/** Returns the schema of a member with its description, and its example if there is one. */
export function annotateMember(
  schema: JsonSchema,
  name: string,
  spec: FieldSpec,
  example: unknown,
): JsonSchema {
  const inside = annotateInside(schema, spec, example)
  const described = { ...inside, description: describeField(name, spec) }
  return example === undefined ? described : { ...described, examples: [example] }
}

/** Annotates the members of an object, and of the objects of an array. */
function annotateInside(schema: JsonSchema, spec: FieldSpec, value: unknown): JsonSchema {
  const example = typeof value === 'object' && value !== null ? value : {}
  if (spec.members) return annotateSchema(schema, spec.members as FieldSpecs, example)
  if (!spec.items || schema.items === undefined) return schema
  const [item] = Array.isArray(value) ? (value as unknown[]) : []
  const items = annotateInside(schema.items as JsonSchema, spec.items as FieldSpec, item)
  return { ...schema, items }
}

/**
 * Describes the rows that persons and anonymous callers reach (§6.7, §6.10), by operation. A
 * service without persons has no words on them.
 */
export function describeReach(
  definition: ApiResource,
  resources: readonly ResourceDefinition[],
): Readonly<Record<RowOperation, string>> {
  const { name, access, signsIn } = definition
  const all = `\`${allScope(name)}\``
  if (ownerPathOf(definition, resources)) {
    const own = `A person reaches its own ${signsIn ? 'row' : 'rows'} only, unless it holds ${all}.`
    const create = signsIn ? `A person needs ${all}.` : 'A person creates its own rows only.'
    return { read: own, create, change: own }
  }
  const closed = `Closed to persons, unless they hold ${all}.`
  const open = 'A person reaches every row of its customer and mode.'
  const hasPersons = signInResource(resources) !== undefined
  const change = !hasPersons ? '' : access.persons === 'write' ? open : closed
  if (access.read === PUBLIC) {
    const read = 'Without a credential, the live rows of the customer `default`.'
    return { read, create: change, change }
  }
  const read = !hasPersons ? '' : access.persons === undefined ? closed : open
  return { read, create: change, change }
}

/** Describes the fields that a PATCH can change in some states only. */
const describeEditable = ({ editable }: ResourceDefinition): string =>
  editable
    .map(({ fields, from }) => {
      const names = fields.map((name) => `\`${name}\``).join(', ')
      return ` While \`${STATE_FIELD}\` is not ${from.join(' or ')}, ${names} are fixed (422).`
    })
    .join('')

/** Describes the fields that a PATCH changes under conditions only. */
export const describeFields = (
  definition: ResourceDefinition,
  shape: Pick<VersionShape, 'chain'>,
): string => describeEditable(definition) + describeSignInName(definition, shape)

/** Describes the field that only its person and `admin` change in rows with a password (§6.9). */
const describeSignInName = (
  { signsIn }: ResourceDefinition,
  { chain }: Pick<VersionShape, 'chain'>,
): string =>
  signsIn
    ? ` Of a row with a password, \`${chain.oldFieldOf(signsIn.username)}\` is the sign-in name: ` +
      '`admin` changes it, or the person with `POST /auth/username`.'
    : ''

/** Describes the effect of a deletion on the rows that refer to the row. */
export function describeDeletion(
  { name }: ResourceDefinition,
  resources: readonly ResourceDefinition[],
): string {
  const effects = resources.flatMap((resource) =>
    Object.entries(resource.fields)
      .filter(([, { target }]) => target === name)
      .map(([field, { onDelete }]) => {
        // Own code alone knows the rows (§15.1).
        if (!hasApi(resource)) return undefined
        if (onDelete === 'cascade') return `Deletes the \`${resource.name}\` that refer to it.`
        if (onDelete === 'setNull') return `Clears \`${field}\` of \`${resource.name}\`.`
        return undefined
      }),
  )
  const restriction = 'other rows refer to it, it cannot be deleted (409).'
  const others = effects.filter((effect) => effect !== undefined)
  if (others.length === 0) return `While ${restriction}`
  const isRestricted = others.length < effects.length
  return [...others, ...(isRestricted ? [`While ${restriction}`] : [])].join(' ')
}
