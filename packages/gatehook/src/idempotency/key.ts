/** The `Idempotency-Key` header and what a repeat is (§11.1). Pure. */
import { createHmac, hash, type KeyObject } from 'node:crypto'
import type { Call } from '../http/call.ts'
import { Failure } from '../kernel/failure.ts'

const KEY_MAX = 255

/** The key, bare or quoted; undefined without one. Throws `invalid_idempotency_key`. */
export function idempotencyKey(call: Call): string | undefined {
  const sent = call.rawHeaders.filter(
    (_text, at) => at % 2 === 1 && call.rawHeaders[at - 1]!.toLowerCase() === 'idempotency-key',
  )
  if (sent.length === 0) return undefined
  const text = sent[0]!.trim()
  const key = /^"[^"]*"$/.test(text) ? text.slice(1, -1) : text
  if (sent.length > 1 || !/^[\x21-\x7e]+$/.test(key) || key.length > KEY_MAX) {
    throw new Failure('invalid_idempotency_key')
  }
  return key
}

/** Whose repeat it is: customer and mode stand beside it as the scope. */
export function repeatId(call: Call, key: string): Buffer {
  const { kind, subject } = call.principal!
  return digest([kind, subject, call.method, call.path, call.version ?? null, key])
}

/**
 * The same for two bodies that say the same: member order and white space aside. Keyed, because a
 * body may hold a password, which a bare hash would let everybody try who reads the database.
 */
export const fingerprint = (key: KeyObject, body: unknown): Buffer =>
  createHmac('sha256', key)
    .update(JSON.stringify(canonical(body)) ?? '')
    .digest()

const digest = (value: unknown): Buffer => hash('sha256', JSON.stringify(value) ?? '', 'buffer')

function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  // Pairs instead of an object: integer-like names would change their place in one.
  return { members: members.map(([name, member]) => [name, canonical(member)]) }
}
