/**
 * The fields that a caller reads and writes: `.writeOnly()`, `.visible(scope)`, `.writable(scope)`.
 * The rights of a field are the same in responses, lists and every version. Pure.
 */
import { ADMIN_SCOPE } from '../../identity/access/administration.ts'
import { holdsScope } from '../../identity/access/scopes.ts'
import type { Principal } from '../../kernel/principal.ts'
import { EVENT_TEXT_MAX, exceedsEvents } from '../../protocol/fields/event-texts.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import type { FieldLimits } from '../../protocol/idempotency/outcome.ts'
import type { Collection } from '../../protocol/lists/collection.ts'
import type { ResourceDefinition } from './resource.ts'

/** The scopes that a caller holds, among those that limit fields. */
export type HeldScopes = ReadonlySet<string>

export const NO_SCOPES: HeldScopes = new Set()
/** A caller with every scope, such as an operator. */
export const EVERY_SCOPE: Pick<Principal, 'scopes'> = { scopes: new Set([ADMIN_SCOPE]) }

/** Scopes that limit the fields of one resource: each set of held scopes has a view of its own. */
const LIMITS_MAX = 6

const limitsOf = ({ visibleTo, writableBy }: FieldSpec): string[] =>
  [visibleTo, writableBy].filter((scope) => scope !== undefined)

/** Returns the scopes that limit fields of any version, sorted. */
export const limitingScopes = ({ fields, changes }: ResourceDefinition): string[] => {
  const older = changes.flatMap(({ had }) => Object.values(had as FieldSpecs))
  return [...new Set([...Object.values(fields), ...older].flatMap(limitsOf))].sort()
}

/** Returns the scopes of `.visible()` by the name of the field, in any resource and version. */
export function scopesOfFields(
  resources: readonly ResourceDefinition[],
): ReadonlyMap<string, readonly string[]> {
  const limited = resources
    .flatMap(({ fields, changes }) => [fields, ...changes.map(({ had }) => had as FieldSpecs)])
    .flatMap((specs) => Object.entries(specs))
    .flatMap(([name, { visibleTo }]) => (visibleTo === undefined ? [] : [{ name, visibleTo }]))
  const byName = Map.groupBy(limited, ({ name }) => name)
  return new Map([...byName].map(([name, all]) => [name, all.map(({ visibleTo }) => visibleTo)]))
}

/** Returns the limits of `.visible()` and `.writeOnly()`, of the fields of each version. */
export const fieldLimitsOf = (resources: readonly ResourceDefinition[]): FieldLimits => {
  const limits = resources.flatMap(({ name: resource, fields, changes }) =>
    [fields, ...changes.map(({ had }) => had as FieldSpecs)]
      .flatMap((specs) => Object.entries(specs))
      .flatMap(([name, { visibleTo, isWriteOnly }]) => [
        ...(isWriteOnly ? [`${resource}.${name}`] : []),
        ...(visibleTo === undefined ? [] : [`${resource}.${name} ${visibleTo}`]),
      ]),
  )
  return [...new Set(limits)]
}

/** Returns the limits of the fields of one resource, which its rows in a response have. */
export const limitsOfRows = (limits: FieldLimits, resource: string): FieldLimits =>
  limits.filter((limit) => limit.startsWith(`${resource}.`))

export const heldScopesOf = (
  scopes: readonly string[],
  principal: Pick<Principal, 'scopes'> | undefined,
): HeldScopes =>
  principal ? new Set(scopes.filter((scope) => holdsScope(principal, scope))) : NO_SCOPES

const isHidden = ({ isWriteOnly, visibleTo }: FieldSpec, held: HeldScopes): boolean =>
  isWriteOnly === true || (visibleTo !== undefined && !held.has(visibleTo))

/** Returns the fields that the responses to a caller lack; without a caller, those of events. */
export const hiddenFields = (
  specs: FieldSpecs,
  held: HeldScopes | undefined,
): ReadonlySet<string> => {
  const isAbsent = (spec: FieldSpec) =>
    isHidden(spec, held ?? NO_SCOPES) || (held === undefined && exceedsEvents(spec))
  return new Set(Object.keys(specs).filter((name) => isAbsent(specs[name]!)))
}

/** Returns the scope that the caller lacks to write each field. */
export const lockedFields = (specs: FieldSpecs, held: HeldScopes): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(specs).flatMap(([name, { writableBy }]) =>
      writableBy === undefined || held.has(writableBy) ? [] : [[name, writableBy] as const],
    ),
  )

/** Returns the collection whose messages name no hidden filter or sort. */
export function visibleCollection(collection: Collection, hidden: ReadonlySet<string>): Collection {
  const visibleNames = (names: readonly string[]) => names.filter((name) => !hidden.has(name))
  return hidden.size === 0
    ? collection
    : {
        ...collection,
        filter: visibleNames(collection.filter),
        sort: visibleNames(collection.sort),
      }
}

/** Returns a sentence for the developer per mistake. */
export function findRightsMistakes(definition: ResourceDefinition): string[] {
  const { fields, filter, prefix, contains, sort, search } = definition
  const mistakes: string[] = []
  for (const [name, spec] of Object.entries(fields)) {
    if (spec.writableBy !== undefined && spec.write === 'required') {
      mistakes.push(`${name}: .writable() needs a default, for callers without the scope`)
    }
    if (spec.isWriteOnly && [...filter, ...sort, ...prefix, ...contains].includes(name)) {
      mistakes.push(`list: ${name} is write-only, and a list would return its values one by one`)
    }
  }
  for (const name of contains.filter((name) => fields[name] && exceedsEvents(fields[name]))) {
    mistakes.push(`list: contains: ${name} is too long; its max is above ${EVENT_TEXT_MAX}`)
  }
  for (const name of search) {
    if (fields[name]?.isWriteOnly || fields[name]?.visibleTo !== undefined) {
      mistakes.push(`search: not every caller sees ${name}, and the words would reveal it`)
    }
  }
  const scopes = limitingScopes(definition)
  if (scopes.length > LIMITS_MAX) {
    mistakes.push(`${scopes.length} scopes limit its fields; at most ${LIMITS_MAX} do`)
  }
  return mistakes
}

export const hasSameVisibility = (left: FieldSpec, right: FieldSpec): boolean =>
  left.isWriteOnly === right.isWriteOnly && left.visibleTo === right.visibleTo
