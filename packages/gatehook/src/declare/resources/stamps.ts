/** The fields of a resource that hold an instant which the engine sets. Pure. */
import type { ResourceDefinition } from './resource.ts'

/** Returns the fields with one of the stamps. */
export const stampFields = (
  { fields }: Pick<ResourceDefinition, 'fields'>,
  stamps: readonly string[],
): string[] => Object.keys(fields).filter((field) => stamps.includes(fields[field]!.stamp ?? ''))
