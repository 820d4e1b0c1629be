/**
 * Digests of the parts of a declaration, by which operators notice that nodes run different ones.
 * Functions count by their text, so that a changed computation differs. Mail is left out: its
 * transport is a running object.
 */
import { createHash, type Hash } from 'node:crypto'
import type { ServiceDefinition } from './service.ts'

const DIGEST_CHARACTERS = 12

/**
 * Returns a digest for each resource by its name, and for all else as `service`, which a resource
 * of that name shares.
 */
export function digestDeclaration(definition: ServiceDefinition): Record<string, string> {
  const { resources, mail: _, ...rest } = definition
  const parts: Record<string, unknown[]> = { service: [rest] }
  for (const part of resources) (parts[part.name] ??= []).push(part)
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, digestOf(part)]))
}

function digestOf(part: unknown): string {
  const hash = createHash('sha256')
  update(hash, part, new Map())
  return hash.digest('hex').slice(0, DIGEST_CHARACTERS)
}

/** `seen`: numbers of the objects that were read, so that each is read once. */
function update(hash: Hash, value: unknown, seen: Map<object, number>): void {
  if (typeof value === 'object' && value !== null) updateObject(hash, value, seen)
  else hash.update(`${typeof value} ${String(value)}\n`)
}

function updateObject(hash: Hash, value: object, seen: Map<object, number>): void {
  const number = seen.get(value)
  hash.update(number === undefined ? '{' : `again ${number}\n`)
  if (number !== undefined) return
  seen.set(value, seen.size)
  if (value instanceof RegExp || value instanceof Date) hash.update(String(value))
  if (Symbol.iterator in value) {
    for (const member of value as Iterable<unknown>) update(hash, member, seen)
  } else {
    for (const key of Object.keys(value).sort()) {
      hash.update(`${key}:`)
      update(hash, (value as Record<string, unknown>)[key], seen)
    }
  }
  hash.update('}')
}
