/**
 * Reads HTTP/1.1 responses of one keep-alive connection: status, and the body by Content-Length or
 * chunks. Throws `UnreadableResponse` for any other response.
 */
const HEAD_END = Buffer.from('\r\n\r\n')
const LENGTH = /\r\ncontent-length: *(\d+)/i
const CHUNKED = /\r\ntransfer-encoding: *chunked/i
const CLOSE = /\r\nconnection: *close/i

export class UnreadableResponse extends Error {}

/**
 * The reader of one connection. When `feed` returns true, `status`, `head`, `body` and `closes`
 * describe the response until the next `feed`.
 */
export class ResponseReader {
  status = 0
  /** Whether the server closes the connection after this response. */
  closes = false
  #bytes: Buffer = Buffer.alloc(0)
  #held: Buffer | undefined
  #heldLength = 0
  #bodyStart = 0
  #end = 0
  #chunked = false

  /**
   * Adds `bytes[0, length)` and returns whether the response is complete. The caller may reuse the
   * buffer after the next `feed`.
   *
   * @param bodiless - whether the request was a HEAD
   */
  feed(bytes: Buffer, length: number, bodiless: boolean): boolean {
    if (this.#held === undefined) {
      this.#bytes = bytes
      this.#end = 0
      if (this.#complete(length, bodiless)) return true
      this.#held = Buffer.allocUnsafe(Math.max(65_536, length * 2, this.#end))
      this.#heldLength = 0
    }
    this.#hold(bytes, length)
    this.#bytes = this.#held
    if (!this.#complete(this.#heldLength, bodiless)) return false
    this.#held = undefined
    return true
  }

  /** Drops an incomplete response; the next bytes belong to a new connection. */
  reset(): void {
    this.#held = undefined
  }

  /** Returns a copy of the status line and headers. */
  head(): string {
    return this.#bytes.toString('latin1', 0, this.#bodyStart - 2)
  }

  /** Returns a copy of the body. */
  body(): string {
    if (!this.#chunked) return this.#bytes.toString('utf8', this.#bodyStart, this.#end)
    const parts: Buffer[] = []
    this.#walkChunks(this.#end, (from, to) => parts.push(this.#bytes.subarray(from, to)))
    return Buffer.concat(parts).toString('utf8')
  }

  /** Copies `length` bytes after the first `before` to `at` in `into`; false without `before`. */
  copyBehind(
    { before, at, length }: { before: Buffer; at: number; length: number },
    into: Buffer,
  ): boolean {
    const start = this.#bytes.indexOf(before, this.#bodyStart)
    const from = start + before.length
    if (start < 0 || from + length > this.#end) return false
    this.#bytes.copy(into, at, from, from + length)
    return true
  }

  #hold(bytes: Buffer, length: number): void {
    let held = this.#held!
    const needed = Math.max(this.#heldLength + length, this.#end)
    if (needed > held.length) {
      const larger = Buffer.allocUnsafe(needed * 2)
      held.copy(larger, 0, 0, this.#heldLength)
      this.#held = held = larger
    }
    bytes.copy(held, this.#heldLength, 0, length)
    this.#heldLength += length
  }

  #complete(available: number, bodiless: boolean): boolean {
    if (this.#end === 0 && !this.#readHead(available, bodiless)) return false
    if (this.#chunked) {
      const end = this.#walkChunks(available, () => {})
      if (end === undefined) return false
      this.#end = end
    }
    if (available < this.#end) return false
    if (available > this.#end) throw new UnreadableResponse('more bytes than one response')
    return true
  }

  #readHead(available: number, bodiless: boolean): boolean {
    const at = this.#bytes.indexOf(HEAD_END)
    if (at < 0 || at + 4 > available) return false
    const head = this.#bytes.toString('latin1', 0, at)
    if (!head.startsWith('HTTP/1.1 ')) throw new UnreadableResponse(head.slice(0, 40))
    this.status = Number(head.slice(9, 12))
    this.closes = CLOSE.test(head)
    this.#bodyStart = at + 4
    const without = bodiless || this.status === 204 || this.status === 304
    const length = LENGTH.exec(head)
    this.#chunked = !without && length === null && CHUNKED.test(head)
    if (without) this.#end = this.#bodyStart
    else if (length) this.#end = this.#bodyStart + Number(length[1])
    else if (!this.#chunked) throw new UnreadableResponse('neither content-length nor chunks')
    return true
  }

  /** Calls `visit` for each chunk. Returns the end of the last; undefined if incomplete. */
  #walkChunks(available: number, visit: (from: number, to: number) => void): number | undefined {
    let at = this.#bodyStart
    for (;;) {
      const lineEnd = this.#bytes.indexOf('\r\n', at, 'latin1')
      if (lineEnd < 0 || lineEnd + 2 > available) return undefined
      const size = Number.parseInt(this.#bytes.toString('latin1', at, lineEnd), 16)
      if (Number.isNaN(size)) throw new UnreadableResponse('a chunk without a size')
      const from = lineEnd + 2
      at = from + size + 2
      if (at > available) return undefined
      if (size === 0) return at
      visit(from, from + size)
    }
  }
}
