/**
 * Selects the event type that the console suggests for `gatehook trigger`: one whose sample row the
 * service accepts. Pure.
 */
import type { ResourceDefinition } from './resource.ts'
import { sampleRow } from './sample.ts'
import type { ServiceDefinition } from './service.ts'

type ResourceLookup = (name: string) => ResourceDefinition | undefined

/** Returns the type; null if the service has no event whose sample is certain to be accepted. */
export function suggestEventType(service: ServiceDefinition): string | null {
  const resourceOf: ResourceLookup = (name) =>
    service.resources.find((other) => other.name === name)
  for (const definition of service.resources) {
    const type = definition.events.find((name) => name.endsWith('.created'))
    if (type !== undefined && hasValidSample(definition, resourceOf)) return type
  }
  return service.externalEvents[0]?.type ?? null
}

/**
 * Returns whether clients create a row from its sample, and from those of the rows to which it must
 * refer. A rule may reject values that only `.sample()` knows; a resource without it needs no rule.
 */
function hasValidSample(
  definition: ResourceDefinition,
  resourceOf: ResourceLookup,
  referrers: readonly string[] = [],
): boolean {
  const { name, access, fields, rules, sample } = definition
  if (!access || access.create === false || referrers.includes(name)) return false
  if (!sample && rules.some(({ operation }) => operation === 'create')) return false
  if (!passesChecks(definition)) return false
  return Object.values(fields)
    .filter(({ target, nullable, write }) => target && !nullable && write !== 'never')
    .every(({ target }) => {
      const referred = resourceOf(target!)
      return referred !== undefined && hasValidSample(referred, resourceOf, [...referrers, name])
    })
}

/** `.sample()` and the checks are code of the team, which may throw. */
function passesChecks(definition: ResourceDefinition): boolean {
  try {
    const row = sampleRow(definition)
    return definition.checks.every((check) => check(row).length === 0)
  } catch {
    return false
  }
}
