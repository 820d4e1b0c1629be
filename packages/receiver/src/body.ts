/**
 * Collects the body of a delivery, whose sender is unknown until the signature of the whole body
 * is verified: memory is bounded by the bytes, and time by the number of chunks.
 */

/** A body has this many chunks at most, and one more for each 64 bytes of its bound. */
const FREE_CHUNKS = 1024
const BYTES_PER_CHUNK = 64

export interface BodyBytes {
  /** Adds a chunk; returns false if the body is too large, or in too many chunks. */
  add(chunk: Uint8Array): boolean
  /** Returns the bytes so far. */
  read(): Uint8Array
}

/** Collects chunks in one buffer that doubles: a chunk of a byte takes 140 bytes as an object. */
export function collectBody(maxBytes: number): BodyBytes {
  const maxChunks = FREE_CHUNKS + maxBytes / BYTES_PER_CHUNK
  let buffer = new Uint8Array()
  let size = 0
  let chunks = 0
  return {
    add(chunk) {
      const end = size + chunk.length
      if (end > maxBytes || ++chunks > maxChunks) return false
      if (end > buffer.length) {
        const grown = new Uint8Array(Math.min(maxBytes, Math.max(end, 2 * buffer.length)))
        grown.set(buffer.subarray(0, size))
        buffer = grown
      }
      buffer.set(chunk, size)
      size = end
      return true
    },
    read: () => buffer.subarray(0, size),
  }
}

/** The part of a readable stream of Node that `readStream` uses. */
export interface NodeStream {
  on(event: 'data', listener: (chunk: Uint8Array) => void): unknown
  on(event: 'end' | 'close', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  pause(): unknown
}

/** Reads the body of a request of Node; undefined if it is too large. */
export function readStream(stream: NodeStream, maxBytes: number): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    const body = collectBody(maxBytes)
    let isTooLarge = false
    stream.on('data', (chunk) => {
      if (isTooLarge || body.add(chunk)) return
      isTooLarge = true
      stream.pause() // the response uses the same socket
      resolve(undefined)
    })
    stream.on('end', () => resolve(body.read()))
    stream.on('error', reject)
    stream.on('close', () =>
      reject(new Error('The connection ended before the body was complete.')),
    )
  })
}
