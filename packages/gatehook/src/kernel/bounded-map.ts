/**
 * A `Map` with a maximum number of entries, for keys that come from requests. A full map evicts the
 * entry that was set longest ago. A read costs as much as one of a `Map`.
 */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #maxEntries: number

  constructor(maxEntries: number) {
    super()
    this.#maxEntries = maxEntries
  }

  /** Sets an entry and makes it the newest. */
  override set(key: K, value: V): this {
    if (this.size > 0) this.delete(key)
    super.set(key, value)
    if (this.size > this.#maxEntries) this.delete(this.keys().next().value!)
    return this
  }

  /** Returns the value of `key`; without one, sets the result of `create`. */
  getOrCreate(key: K, create: () => V): V {
    const existing = this.get(key)
    if (existing !== undefined || this.has(key)) return existing as V
    const value = create()
    this.set(key, value)
    return value
  }
}
