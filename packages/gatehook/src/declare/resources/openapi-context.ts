/** The parts that the described operations of a resource share. Pure. */

import { type FailureCode, failures } from '../../kernel/failure.ts'
import type { JsonSchema } from '../../protocol/fields/json-schema.ts'
import { idSchema } from '../../protocol/fields/kinds/row-id-kind.ts'
import {
  content,
  credentialSchemes,
  failing,
  idParameter,
  ref,
} from '../../protocol/openapi/parts.ts'
import type { ApiEntry, Catalog } from './catalog-entry.ts'
import { codeOf, type ListedFailure, statusOf } from './listed-failures.ts'
import { expandParameters } from './openapi-relations.ts'
import {
  describeDeletion,
  describeReach,
  schemaName,
  singularWords,
  withArticle,
} from './openapi-words.ts'
import type { RowOperation } from './ownership.ts'
import type { ResourceDefinition } from './resource.ts'
import { sampleWire } from './sample.ts'
import { uniqueTuples } from './table.ts'

/** The parts that the operations of a resource in a version share. */
export interface ResourceContext {
  readonly entry: ApiEntry
  readonly version: string
  /** `Order`, in the names of schemas. */
  readonly schema: string
  /** `an order`, in sentences. */
  readonly object: string
  readonly reach: Readonly<Record<RowOperation, string>>
  /** The effect of a deletion on other rows. */
  readonly deletion: string
  /** A row as responses contain it. */
  readonly row: Readonly<Record<string, unknown>>
  /** The parameter `expand`, if rows refer to others. */
  readonly expand: readonly JsonSchema[]
}

export function contextOf(
  entry: ApiEntry,
  version: string,
  { apiEntries, service: { resources } }: Pick<Catalog, 'apiEntries' | 'service'>,
): ResourceContext {
  const { definition, shapes } = entry
  return {
    entry,
    version,
    schema: schemaName(definition),
    object: withArticle(singularWords(definition)),
    reach: describeReach(definition, resources),
    deletion: describeDeletion(definition, resources),
    row: sampleWire(definition, shapes.get(version)!),
    expand: expandParameters(entry, version, apiEntries),
  }
}

/** Returns the parameter `id` of a path. */
export function rowIdParameter({ entry: { definition }, row }: ResourceContext): JsonSchema {
  const { id } = definition.fields
  const isText = id!.idPrefix !== undefined
  return idParameter(isText ? { ...idSchema(id!), examples: [row.id] } : ROW_NUMBER)
}

const ROW_NUMBER: JsonSchema = { type: 'integer', minimum: 1 }

interface OperationParts {
  readonly id: string
  /** Undefined: the operation also serves anonymous callers. */
  readonly scope: string | undefined
  readonly summary: string
  readonly description: string
  /** The failures besides those of every request. */
  readonly errors: readonly FailureCode[]
  /** The operation whose rules and action list failures. */
  readonly operation?: string
  readonly parts: JsonSchema
}

export const describeOperation = (
  { entry }: ResourceContext,
  { id, scope, summary, description, errors, operation, parts }: OperationParts,
): JsonSchema => ({
  ...(scope === undefined ? { security: [{}, ...credentialSchemes] } : { 'x-scope': scope }),
  tags: [entry.definition.name],
  operationId: id,
  summary,
  // Words on persons may be missing within or after the others.
  ...(description.trim() !== '' && { description: description.replaceAll('  ', ' ').trim() }),
  ...withListed(operation === undefined ? [] : listedErrors(entry.definition, operation), {
    'x-errors': errors,
    ...parts,
  }),
})

export const bodyOf = (schema: string, example: unknown, required: boolean): JsonSchema => ({
  required,
  content: content(ref('schemas', schema), example),
})

export const uniqueErrors = (definition: ResourceDefinition): FailureCode[] =>
  uniqueTuples(definition).length > 0 ? ['conflict'] : []

/** Returns the failure of a change of a sign-in name (§6.9). */
export const signInErrors = ({ signsIn }: ResourceDefinition): FailureCode[] =>
  signsIn ? ['credential_protected'] : []

/** Returns the failures that the rules of an operation list, and those of its action. */
const listedErrors = (
  { rules, actions }: ResourceDefinition,
  operation: string,
): ListedFailure[] => [
  ...rules.flatMap((rule) => (rule.operation === operation ? rule.failures : [])),
  ...actions.flatMap(({ name, failures }) => (name === operation ? failures : [])),
]

/** Adds failures that own code lists to the description of an operation. */
export const withListed = (listed: readonly ListedFailure[], operation: JsonSchema): JsonSchema => {
  if (listed.length === 0) return operation
  const codes = [...((operation['x-errors'] ?? []) as string[]), ...listed.map(codeOf)]
  const responses = { ...failing(...listed.map(statusOf)), ...(operation.responses as object) }
  return { ...operation, 'x-errors': [...new Set(codes)], responses }
}

/** Returns the failures of rules: they read rows of other resources by ids of the body. */
export const ruleErrors = ({ rules }: ResourceDefinition): FailureCode[] =>
  rules.some(({ operation }) => operation === 'create') ? ['not_found'] : []

/** Returns the failure responses of a creation. */
export const failedCreation = (definition: ResourceDefinition) =>
  failing(...ruleErrors(definition).map((code) => failures[code][0]), 409, 413, 415, 422)
