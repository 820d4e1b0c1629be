/**
 * Whether agents reach declared operations (§16.11): not those with `mcp: false`, not those whose
 * responses have a secret field, and no route with steps: a tool has no `Idempotency-Key`. Pure.
 */

import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import { secretNames } from '../../protocol/fields/secret-names.ts'
import type { Endpoint } from '../../protocol/http/call.ts'
import { fieldSpecsOf, newestMembers } from './body-versions.ts'
import { Resource, type ResourceDefinition } from './resource.ts'
import { isMedia, type RouteDefinition } from './route.ts'

function returnsSecret(fields: FieldSpecs): boolean {
  const returned = Object.entries(fields).filter(([, { isWriteOnly }]) => !isWriteOnly)
  return secretNames(Object.fromEntries(returned)).length > 0
}

export const reachesResource = ({ mcp, fields }: ResourceDefinition): boolean =>
  mcp && !returnsSecret(fields)

export function reachesRoute({ mcp = true, output, steps }: RouteDefinition): boolean {
  if (steps) return false
  if (!mcp || output === undefined || isMedia(output)) return mcp
  if (output instanceof Resource) return reachesResource(output.definition)
  return !returnsSecret(fieldSpecsOf(newestMembers(output)))
}

/** Closes the endpoints of a resource to agents, unless they reach it. */
export const withReach = (resource: ResourceDefinition, endpoints: Endpoint[]): Endpoint[] =>
  reachesResource(resource)
    ? endpoints
    : endpoints.map(({ methods, ...endpoint }) => ({
        ...endpoint,
        methods: Object.fromEntries(
          Object.entries(methods).map(([method, operation]) => [
            method,
            { ...operation, mcp: false },
          ]),
        ),
      }))
