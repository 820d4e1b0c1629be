/** Counts the headers of a response whose bytes arrive in parts, until its head ends. Pure. */

const LINE_FEED = 10
/** A line of a carriage return ends the head. */
const EMPTY_LINE_BYTES = 1

export class HeadLines {
  /** Lines after the status line, and empty ones before it. */
  count = 0
  #bytes = 0
  #lineBytes = 0
  #hasStatus = false

  /** Whether any byte of the head has arrived. */
  get hasBegun(): boolean {
    return this.#bytes > 0
  }

  /** Returns the position in `bytes` after the head; undefined if the head continues. */
  add(bytes: Buffer): number | undefined {
    this.#bytes += bytes.length
    let from = 0
    for (;;) {
      const at = bytes.indexOf(LINE_FEED, from)
      if (at < 0) {
        this.#lineBytes += bytes.length - from
        return undefined
      }
      const isEmpty = this.#lineBytes + at - from <= EMPTY_LINE_BYTES
      this.#lineBytes = 0
      from = at + 1
      if (isEmpty && this.#hasStatus) return from
      // Empty lines may precede the status line (RFC 9112 §2.2).
      if (isEmpty || this.#hasStatus) this.count++
      else this.#hasStatus = true
    }
  }
}
