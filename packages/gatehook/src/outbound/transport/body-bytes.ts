/** The bytes of a body that arrives in chunks. Pure. */

const NO_BYTES = Buffer.alloc(0)

/** One buffer that doubles: a Buffer for each chunk of a byte takes a hundred times its size. */
export class BodyBytes {
  #buffer: Buffer = NO_BYTES
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Adds a chunk, which must not change: the only one of a body is not copied. */
  add(chunk: Buffer): void {
    const size = this.#size + chunk.length
    if (this.#size === 0) this.#buffer = chunk
    else {
      if (size > this.#buffer.length) {
        const grown = Buffer.allocUnsafe(Math.max(size, 2 * this.#buffer.length))
        this.#buffer.copy(grown, 0, 0, this.#size)
        this.#buffer = grown
      }
      chunk.copy(this.#buffer, this.#size)
    }
    this.#size = size
  }

  /** Returns the bytes so far. */
  read(): Buffer {
    return this.#buffer.subarray(0, this.#size)
  }
}
