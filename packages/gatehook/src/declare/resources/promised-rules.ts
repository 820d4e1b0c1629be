/**
 * The rules of a resource that a document does not contain, as sentences for the lock: requests
 * that the server rejects by a rule, and effects on which callers rely (§8.11). The text of a
 * sentence never changes: locks of earlier releases contain it. Pure.
 */
import type { ApiResource } from './api-resources.ts'
import { innerReferencesOf } from './inner-references.ts'
import { promisedLimits, promisedReach } from './promised-reach.ts'
import type { ActionDefinition, ResourceDefinition } from './resource.ts'
import { STATE_FIELD } from './resource.ts'
import { actionEvents } from './resource-check.ts'
import type { RouteDefinition } from './route.ts'
import { sampleRow } from './sample.ts'
import type { VersionShape } from './shape.ts'
import { uniqueTuples } from './table.ts'

interface PromisedRules {
  /** A new one breaks callers, if the version has its fields. */
  readonly limits: readonly { readonly fields: readonly string[]; readonly sentence: string }[]
  /** A removed one breaks callers. */
  readonly effects: readonly string[]
  /** Days in which callers can restore a deleted row. */
  readonly purgeAfterDays?: number
  /** The largest body; undefined: that of every request. */
  readonly maxBodyBytes?: number
}

const UNREACHED = 'agents do not reach it'

/** Returns the rules of a route in the names of the lock: those that no document has. */
export const promisedRoute = ({
  method,
  path,
  mcp,
  maxBodyBytes,
}: RouteDefinition): [name: string, rules: PromisedRules] => {
  const name = `${method} ${path}`
  const limits = mcp === false ? [{ fields: [], sentence: `${name}: ${UNREACHED}` }] : []
  return [name, { limits, effects: [], ...(maxBodyBytes !== undefined && { maxBodyBytes }) }]
}

/**
 * Returns the rules in the names of a version.
 *
 * @param personScopes the default scopes of a person
 */
export function promisedRules(
  definition: ApiResource,
  { chain, specs }: Pick<VersionShape, 'chain' | 'specs'>,
  personScopes: readonly string[],
): PromisedRules {
  const { name, fields, checks, editable, search, events, actions, softDeletion } = definition
  const oldNames = (names: readonly string[]): string[] =>
    [...new Set(names.map(chain.oldFieldOf))].sort()
  const states = specs[STATE_FIELD]?.values ?? []
  const limits = [
    ...withoutFields(promisedLimits(definition, personScopes)),
    ...withoutFields(definition.mcp ? [] : [UNREACHED]),
    ...withoutFields(
      actions.flatMap((action) => (action.mcp === false ? [`${action.name}: ${UNREACHED}`] : [])),
    ),
    ...uniqueTuples(definition)
      .map(oldNames)
      .map((names) => ({
        fields: names,
        sentence: `two rows cannot have the same ${names.join(', ')}`,
      })),
    ...checks.flatMap(({ checkName }) =>
      checkName === undefined ? [] : [{ fields: [], sentence: `rows obey the check ${checkName}` }],
    ),
    ...editable.flatMap((rule) =>
      oldNames(rule.fields).flatMap((field) =>
        states
          .filter((state) => !rule.from.includes(state))
          .map((state) => ({
            fields: [field],
            sentence: `${field} does not change in the state ${state}`,
          })),
      ),
    ),
  ]
  const inner = innerReferencesOf(fields)
  const direct = Object.entries(fields).map(([field, spec]) => ({ field, path: field, spec }))
  const deletions = [...direct, ...inner].flatMap(({ field, path, spec }) => {
    const { target, onDelete } = spec
    if (onDelete === 'cascade') return [`the deletion of a row of ${target} deletes its rows`]
    if (onDelete !== 'setNull') return []
    const cleared = `${chain.oldFieldOf(field)}${path.slice(field.length)}`
    return [`the deletion of a row of ${target} clears ${cleared}`]
  })
  const references = [
    ...Object.entries(specs).map(([path, spec]) => ({ path, spec })),
    ...innerReferencesOf(specs),
  ].flatMap(({ path, spec: { kind, target } }) =>
    kind === 'ref' ? [`${path} refers to a row of ${target}`] : [],
  )
  const tuples = definition.sortIndexes
    .filter((names) => names.length > 1)
    .map((names) => `lists sort by ${names.map(chain.oldFieldOf).join(', ')} together`)
  const effects = [
    ...references,
    ...tuples,
    ...promisedReach(definition, personScopes),
    ...linksOf(definition).map((link) => `rows have the link ${link}`),
    ...[...events, ...actionEvents(definition)].map((type) => `emits the event ${type}`),
    ...oldNames(search).map((field) => `q finds words of ${field}`),
    ...deletions,
    ...actions.flatMap((action) => actionEffects(action, states)),
  ]
  return {
    limits: limits.map((limit) => ({ ...limit, sentence: `${name}: ${limit.sentence}` })),
    effects: [...new Set(effects)].map((effect) => `${name}: ${effect}`),
    ...(definition.maxBodyBytes !== undefined && { maxBodyBytes: definition.maxBodyBytes }),
    ...(softDeletion?.scope !== undefined && {
      purgeAfterDays: softDeletion.purgeAfterMs / DAY_MS,
    }),
  }
}

const DAY_MS = 86_400_000

const withoutFields = (sentences: readonly string[]) =>
  sentences.map((sentence) => ({ fields: [], sentence }))

/** Returns the names of the links of a sample row. */
function linksOf(definition: ResourceDefinition): string[] {
  if (!definition.links) return []
  try {
    return Object.keys(definition.links(sampleRow(definition)))
  } catch {
    return [] // own code may reject the sample
  }
}

/** Returns the rules of a resource that only their code describes; undefined without any. */
export function describeUncomparedRules({
  name,
  checks,
  rules,
}: Pick<ResourceDefinition, 'name' | 'checks' | 'rules'>): string | undefined {
  const count = checks.filter(({ checkName }) => checkName === undefined).length
  const operations = [...new Set(rules.map(({ operation }) => operation))]
  const parts = [
    ...(count > 0 ? [`${count === 1 ? 'a check' : `${count} checks`} without a name`] : []),
    ...(operations.length > 0 ? [`rules of ${operations.join(', ')}`] : []),
  ]
  return parts.length > 0 ? `${name}: ${parts.join('; ')}` : undefined
}

const actionEffects = (
  { name, from, to, emits }: ActionDefinition,
  states: readonly string[],
): string[] => [
  ...states
    .filter((state) => from === undefined || from.includes(state))
    .map((state) => `${name} is possible in the state ${state}`),
  ...(to === undefined || !states.includes(to) ? [] : [`${name} leads to the state ${to}`]),
  ...(emits === undefined ? [] : [`${name} emits the event ${emits}`]),
]
