/**
 * Whether agents reach declared operations (§16.11): not those with `mcp: false`, not those whose
 * responses have a secret field, and no route whose body or response is a stream or bytes. Pure.
 */

import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import { secretNames } from '../../protocol/fields/secret-names.ts'
import { fieldSpecsOf, newestMembers } from './body-versions.ts'
import { isMedia, mediaTypesOf } from './media.ts'
import { Resource, type ResourceDefinition } from './resource.ts'
import type { RouteDefinition } from './route.ts'

function returnsSecret(fields: FieldSpecs): boolean {
  const returned = Object.entries(fields).filter(([, { isWriteOnly }]) => !isWriteOnly)
  return secretNames(Object.fromEntries(returned)).length > 0
}

export const reachesResource = ({ mcp, fields }: ResourceDefinition): boolean =>
  mcp && !returnsSecret(fields)

export function reachesRoute({ mcp = true, input, output, forward }: RouteDefinition): boolean {
  if (forward?.stream || mediaTypesOf(input)) return false
  if (!mcp || output === undefined) return mcp
  // The result of a tool is text.
  if (isMedia(output)) return [output.media].flat().every((type) => type.startsWith('text/'))
  if (output instanceof Resource) return reachesResource(output.definition)
  return !returnsSecret(fieldSpecsOf(newestMembers(output)))
}
