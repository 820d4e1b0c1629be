/** The check of an API key, for peers that bring none: paid once, then remembered by its text. */
import { createHash } from 'node:crypto'

/**
 * @param {(hash: Buffer) => Promise<{ scopes: string } | undefined>} find
 * @returns {(key: unknown) => boolean | Promise<boolean>} no promise where the key is known
 */
export function keyCheck(find) {
  const known = new Map()
  return (key) => {
    if (typeof key !== 'string') return false
    return known.get(key) ?? look(key)
  }
  async function look(key) {
    const row = await find(createHash('sha256').update(key).digest())
    const allowed = row?.scopes.includes('users:read') ?? false
    if (allowed) known.set(key, true)
    return allowed
  }
}
