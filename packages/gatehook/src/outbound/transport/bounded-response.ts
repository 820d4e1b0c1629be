/** Bounds what own code reads of a response: a few bytes of a coded body can be gigabytes of it. */

/**
 * Returns a response whose body fails after `limit` decoded bytes. Without a content coding these
 * are the bytes of the wire, which the connection bounds.
 */
export function boundDecodedBody(response: Response, limit: number): Response {
  const { body, status, statusText, url } = response
  if (!body || !response.headers.has('content-encoding')) return response
  const headers = [...response.headers]
  let size = 0
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      size += chunk.byteLength
      if (size > limit) throw new Error(`the body has more than ${limit} bytes`)
      controller.enqueue(chunk)
    },
  })
  const bounded = new Response(body.pipeThrough(counter), { status, statusText, headers })
  return Object.defineProperty(bounded, 'url', { value: url })
}
