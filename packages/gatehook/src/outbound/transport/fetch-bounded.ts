/**
 * The Fetch API for libraries that read JSON themselves: the bytes and chunks of a response
 * are bounded, and its values are counted before the library parses it (§11.5).
 */
import { measureJson } from '../../protocol/http/json-body.ts'
import { BodyBytes } from './body-bytes.ts'

const MAX_BYTES = 256 * 1024
const MAX_CHUNKS = 4_096

/** Types of values depend on the project that compiles this; some values are undefined. */
type FetchOptions = { readonly [K in keyof RequestInit]?: unknown }

/** Sends a request. Throws for a response that is too large. */
export async function fetchBounded(url: string, options: FetchOptions): Promise<Response> {
  const response = await fetch(url, options as RequestInit)
  const received = new BodyBytes()
  let chunks = 0
  for await (const { buffer, byteOffset, length } of response.body ?? []) {
    received.add(Buffer.from(buffer, byteOffset, length))
    if (received.size > MAX_BYTES) throw new Error(`the response is longer than ${MAX_BYTES} bytes`)
    if (++chunks > MAX_CHUNKS) throw new Error(`the response has more than ${MAX_CHUNKS} chunks`)
  }
  const body = received.read()
  try {
    measureJson(body)
  } catch (error) {
    // A failure of another server is none for the caller of this one.
    throw new Error('the response of the other server is too large', { cause: error })
  }
  // Some statuses, such as 204, allow no body.
  return new Response(body.length === 0 ? null : new Uint8Array(body), response)
}
