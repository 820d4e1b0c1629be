/** Skips the interim responses (1xx) before a response whose bytes arrive in parts. */
import { CODE } from './socket-error.ts'

interface InterimLimits {
  /** The heads of all interim responses. */
  readonly headerBytes: number
  /** Interim responses before the final one. */
  readonly interimResponses: number
}

const CONTINUE = 'HTTP/1.1 100'
const SWITCHING = 'HTTP/1.1 101'
const INTERIM = 'HTTP/1.1 1'
/** The position of the status: usually its first digit decides. */
const STATUS_AT = INTERIM.length - 1
const DIGIT_1 = '1'.charCodeAt(0)
const END_OF_HEAD = '\r\n\r\n'
const NO_BYTES = Buffer.alloc(0)

/** Returns whether `bytes` may be the beginning of an interim response. */
function isInterim(bytes: Buffer): boolean {
  if (bytes.length > STATUS_AT && bytes[STATUS_AT] !== DIGIT_1) return false
  const begin = bytes.toString('latin1', 0, CONTINUE.length)
  const line = begin + CONTINUE.slice(begin.length)
  return line.startsWith(INTERIM) && line !== SWITCHING
}

export class InterimResponses {
  readonly #limits: InterimLimits
  readonly #fail: (code: string) => void
  /** The beginning of one. */
  #pending: Buffer = NO_BYTES
  #count = 0
  #bytes = 0

  /** Calls `fail` at a limit. */
  constructor(limits: InterimLimits, fail: (code: string) => void) {
    this.#limits = limits
    this.#fail = fail
  }

  /** Returns the bytes of the final response; none while more must arrive, or after a failure. */
  skip(chunk: Buffer): Buffer {
    const { headerBytes, interimResponses } = this.#limits
    let rest = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    this.#pending = NO_BYTES
    while (rest.length > 0 && isInterim(rest)) {
      const at = rest.length < CONTINUE.length ? -1 : rest.indexOf(END_OF_HEAD)
      const length = at < 0 ? rest.length : at + END_OF_HEAD.length
      const code =
        (this.#count === interimResponses && CODE.interim) ||
        (this.#bytes + length > headerBytes && CODE.tooLong)
      if (code) this.#fail(code)
      else if (at < 0) this.#pending = rest
      if (code || at < 0) return NO_BYTES
      rest = rest.subarray(length)
      this.#count++
      this.#bytes += length
    }
    return rest
  }
}
