/**
 * Finds mistakes in the declaration of a resource that its types do not prevent. `service.ts` finds
 * those between resources. Pure.
 */
import { closestSentence, missingField } from '../../kernel/closest.ts'
import { duplicatesIn } from '../../protocol/fields/declaration-mistakes.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import { engineParameters } from '../../protocol/http/query.ts'
import { findWordsOfApi } from './api-resources.ts'
import { findInputMistakes } from './body-check.ts'
import { declaredInput } from './body-versions.ts'
import { findChainMistakes } from './chain-check.ts'
import { findCollectionMistakes } from './collection-options.ts'
import { findComputedMistakes, listInputs } from './computed.ts'
import { columnsRead } from './derived.ts'
import { findFieldMistakes } from './field-check.ts'
import { findRightsMistakes } from './field-rights.ts'
import { findIdMistakes, findMissingTargets } from './id-check.ts'
import { findIndexMistakes } from './index-check.ts'
import { findOwnershipMistakes } from './ownership.ts'
import { findRelatedMistakes } from './related-fields.ts'
import type { ResourceDefinition } from './resource.ts'
import { RESERVED_SEGMENT } from './route-check.ts'
import { sampleRow } from './sample.ts'
import { findSampleMistakes } from './sample-check.ts'
import { findSignInMistakes } from './sign-in.ts'
import { findSoftDeletionMistakes } from './soft-deletion.ts'
import { createValidators, defaultsOf } from './validate.ts'

/** Query parameters of lists, credentials and versions. */
const reservedParameters: ReadonlySet<string> = new Set([
  ...'limit offset page per_page cursor after_id pagination sort fields expand'.split(' '),
  ...engineParameters,
])
/** Prefixes of the tables of the engine and the databases. */
const RESERVED_TABLE = /^(gh|pg|sqlite)_/
export const EVENT_TYPE = /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/

export const actionEvents = ({ actions }: ResourceDefinition): string[] =>
  actions.flatMap(({ emits }) => emits ?? [])

/** The operations of each resource that no action has the name of. */
const OPERATIONS: readonly string[] = ['create', 'update', 'delete']

interface ServiceParts {
  readonly resources: readonly ResourceDefinition[]
  readonly versions: readonly string[]
}

/** Returns a sentence for the developer per mistake. */
export function findResourceMistakes(
  resource: ResourceDefinition,
  service: ServiceParts,
): string[] {
  const { name, fields, signsIn } = resource
  const mistakes: string[] = []
  if (RESERVED_SEGMENT.test(name) || RESERVED_TABLE.test(name)) mistakes.push('the name is taken')
  for (const field of [...resource.filter, ...resource.sort]) {
    if (!Object.hasOwn(fields, field)) mistakes.push(`list: ${missingField(field, fields)}`)
    const kind = fields[field] && fieldKindOf(fields[field])
    const isEntryFilter = kind?.isMap && !resource.sort.includes(field)
    if (kind?.json === 'any' && !isEntryFilter) mistakes.push(`list: ${field} has no order`)
    if (fields[field]?.isSecret) mistakes.push(`list: ${field} is secret, and logs have URLs`)
  }
  mistakes.push(...textFilterMistakes(resource))
  for (const tuple of resource.unique) {
    for (const field of tuple) {
      if (!Object.hasOwn(fields, field)) mistakes.push(`unique: ${missingField(field, fields)}`)
    }
    for (const field of duplicatesIn(tuple)) mistakes.push(`unique: ${field} occurs twice`)
  }
  const uniqueTuples = resource.unique.map((tuple) => tuple.join(', '))
  for (const tuple of duplicatesIn(uniqueTuples)) mistakes.push(`unique: ${tuple} occurs twice`)
  for (const type of duplicatesIn(resource.events)) mistakes.push(`events: ${type} occurs twice`)
  const operations = [
    ...OPERATIONS,
    ...(resource.softDeletion ? ['restore'] : []),
    ...resource.actions.map(({ name }) => name),
  ]
  for (const { operation } of resource.rules) {
    if (!operations.includes(operation)) mistakes.push(`.rule(): there is no action ${operation}`)
  }
  mistakes.push(...findSignInMistakes(fields, signsIn))
  for (const action of duplicatesIn(resource.actions.map((action) => action.name))) {
    mistakes.push(`action ${action} is declared twice`)
  }
  for (const { name } of resource.actions.filter(({ name }) => OPERATIONS.includes(name))) {
    mistakes.push(`action ${name}: every resource has an operation of this name`)
  }
  const namesakes = service.resources.filter(({ singular }) => singular === resource.singular)
  if (namesakes[0] !== resource && namesakes.includes(resource)) {
    mistakes.push(`singular: ${namesakes[0]!.name} is a ${resource.singular}, too`)
  }
  const checkNames = resource.checks.flatMap(({ checkName }) => checkName ?? [])
  for (const check of duplicatesIn(checkNames)) {
    mistakes.push(`.check(${check}) is declared twice`)
  }
  const verbs = ['created', 'updated', 'deleted', ...(resource.softDeletion ? ['restored'] : [])]
  const types = verbs.map((verb) => `${resource.singular}.${verb}`)
  for (const type of resource.events.filter((event) => !types.includes(event))) {
    mistakes.push(`events: nothing emits ${type}. ${closestSentence(String(type), types)}`)
  }
  for (const type of actionEvents(resource)) {
    if (!EVENT_TYPE.test(type)) mistakes.push(`event ${type}: types look like order.paid`)
  }
  return [
    ...mistakes,
    ...fieldMistakes(resource, service.resources),
    ...findWordsOfApi(resource),
    ...findIdMistakes(resource, service.resources),
    ...findCollectionMistakes(resource),
    ...findSoftDeletionMistakes(resource, service.resources),
    ...findOwnershipMistakes(resource, service.resources),
    ...findIndexMistakes(resource),
    ...findRelatedMistakes(resource, service.resources),
    ...findRightsMistakes(resource),
    ...findComputedMistakes(resource),
    ...computationMistakes(resource),
    ...revealedFieldMistakes(resource),
    ...findSampleMistakes(resource),
    ...duplicatesIn(resource.editable.flatMap((rule) => rule.fields)).map(
      (field) => `.editable(): ${field} occurs twice; name all of its states in one call`,
    ),
    ...resource.editable
      .flatMap((rule) => rule.fields)
      .filter(
        (field) => (fields[field]?.write ?? 'never') === 'never' || fields[field]?.isWriteOnce,
      )
      .map((field) => `.editable(): clients never write ${field}`),
    ...changeMistakes(resource, service.versions),
    ...inputMistakes(resource, service),
  ]
}

/** Reports fields that have no beginning and no part to filter by. */
function textFilterMistakes({ fields, prefix, contains }: ResourceDefinition): string[] {
  const named = [
    ...prefix.map((field) => ['prefix', field] as const),
    ...contains.map((field) => ['contains', field] as const),
  ]
  return named.flatMap(([list, field]) => {
    const spec = Object.hasOwn(fields, field) ? fields[field] : undefined
    if (!spec) return [`list.${list}: ${missingField(field, fields)}`]
    if (spec.isSecret) return [`list.${list}: ${field} is secret, and logs have URLs`]
    if (!fieldKindOf(spec).isText) return [`list.${list}: ${field} is not a text`]
    return reservedParameters.has(field) ? [`list.${list}: ${field} is a parameter of lists`] : []
  })
}

/** Computes the fields of a sample row: only a run shows a value that its field rejects. */
function computationMistakes(resource: ResourceDefinition): string[] {
  const names = Object.keys(resource.computations)
  if (names.length === 0) return []
  const advice = resource.sample
    ? '(computed from the row of .sample())'
    : '(computed from a sample row; declare possible values by .sample())'
  try {
    const row = sampleRow(resource)
    const values = Object.fromEntries(names.map((name) => [name, row[name]]))
    const { errors } = createValidators(resource.fields).converted(values)
    return errors.map(
      ({ pointer, message }) => `.compute('${pointer!.slice(1)}'): ${message} ${advice}`,
    )
  } catch (error) {
    const reason = ((error as Error).cause as Error)?.message
    return [`${(error as Error).message}: ${reason} ${advice}`]
  }
}

/**
 * Reports computed and derived fields that more callers see than a field that they follow from, and
 * that logs have although they follow from a secret one.
 */
function revealedFieldMistakes(resource: ResourceDefinition): string[] {
  const { fields } = resource
  return Object.entries(fields).flatMap(([name, { computed, visibleTo, isSecret }]) => {
    if (computed === undefined) return []
    const inputs = inputsOf(resource, name)
    const findInput = (isLimited: (spec: FieldSpec) => unknown) =>
      inputs.find((input) => fields[input] && isLimited(fields[input]))
    const limited =
      visibleTo === undefined &&
      findInput((spec) => spec.isWriteOnly || spec.visibleTo !== undefined)
    const secret = !isSecret && findInput((spec) => spec.isSecret && !spec.isWriteOnly)
    return [
      ...(limited ? [limitedInputMistake(name, limited, fields[limited]!)] : []),
      ...(secret
        ? [
            `${name}: ${secret} decides it, which is secret, and logs have bodies: ` +
              `declare ${name} with .secret()`,
          ]
        : []),
    ]
  })
}

const limitedInputMistake = (name: string, input: string, { visibleTo }: FieldSpec): string =>
  visibleTo === undefined
    ? `${name}: ${input} decides it, and no caller sees ${input}: declare ${name} with ` +
      '.visible() and a scope whose callers may see it'
    : `${name}: ${input} decides it, and not every caller sees ${input}: declare ${name} with ` +
      `.visible('${visibleTo}'), or with another scope whose callers may see it`

/** Returns the fields that an expression names, or that a function reads of a sample row. */
function inputsOf(resource: ResourceDefinition, name: string): readonly string[] {
  const { fields, computations } = resource
  if (fields[name]!.computed === 'derived') return columnsRead(fields[name]!, resource)
  if (!Object.hasOwn(computations, name)) return []
  try {
    return [...listInputs(resource, name, sampleRow(resource))]
  } catch {
    return [] // `computationMistakes` reports the function
  }
}

function fieldMistakes(
  { fields, filter }: ResourceDefinition,
  resources: readonly ResourceDefinition[],
): string[] {
  const mistakes: string[] = []
  for (const { pointer, message } of createValidators(fields).converted(defaultsOf(fields))
    .errors) {
    const name = pointer!.slice(1)
    if (findFieldMistakes(name, fields[name]!).length > 0) continue // reported with the field
    mistakes.push(`${name}: the default ${message}`)
  }
  for (const [name, spec] of Object.entries(fields)) {
    if (reservedParameters.has(name) && filter.includes(name)) {
      mistakes.push(`${name}: a filter of this name would hide a parameter of every list`)
    }
    const hasValue = spec.default !== undefined || spec.stamp || spec.kind === 'id' || spec.computed
    if (spec.write === 'never' && !hasValue && !spec.nullable) {
      mistakes.push(`${name}: is read-only and has no default, so no row can be created`)
    }
  }
  return [...mistakes, ...findMissingTargets(fields, resources)]
}

/** Reports the mistakes in the bodies of actions. */
const inputMistakes = (
  { actions }: ResourceDefinition,
  { resources, versions }: ServiceParts,
): string[] =>
  actions.flatMap((action) =>
    [
      ...findInputMistakes(declaredInput(action), versions),
      ...findMissingTargets(action.input, resources),
    ].map((mistake) => `.action(${action.name}): input: ${mistake}`),
  )

/** Reports the mistakes in `.before()` that its types do not prevent. */
function changeMistakes(
  { fields, changes }: ResourceDefinition,
  versions: readonly string[],
): string[] {
  const withoutId = changes
    .filter(({ hadNot }) => hadNot.includes('id'))
    .map(({ version }) => `.before('${version}'): every version has the id`)
  return [...findChainMistakes(Object.keys(fields), changes, versions), ...withoutId]
}
