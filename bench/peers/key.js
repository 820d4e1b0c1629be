/** The check of an API key for peers without one; caches valid keys. */
import { createHash } from 'node:crypto'

/**
 * @param {(hash: Buffer) => Promise<{ scopes: string } | undefined>} find
 * @returns {(key: unknown) => boolean | Promise<boolean>} no promise for a cached key
 */
export function keyCheck(find) {
  const cachedKeys = new Map()
  return (key) => {
    if (typeof key !== 'string') return false
    return cachedKeys.get(key) ?? look(key)
  }
  async function look(key) {
    const row = await find(createHash('sha256').update(key).digest())
    const allowed = row?.scopes.includes('users:read') ?? false
    if (allowed) cachedKeys.set(key, true)
    return allowed
  }
}
