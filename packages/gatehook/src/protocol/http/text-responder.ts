/**
 * The responses of one rendered text: with an entity tag, 304 for a caller that has it, and
 * compressed once for callers that accept gzip.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Answer, Call } from './call.ts'
import { entityTag, matchesNoneMatch } from './conditional.ts'
import { findCoding } from './content-negotiation.ts'

export type Responder = (call: Call) => Promise<Answer>

const compress = promisify(gzip)
const CODINGS = ['gzip'] as const
/** A shorter text is not compressed. */
const COMPRESSED_MIN = 1024

export function createResponder(
  text: string,
  headers: Readonly<Record<string, string>>,
): Responder {
  // The tag is weak: it is the same for the compressed form.
  const tag = entityTag(text)
  const shared = { ...headers, etag: `W/${tag}`, vary: 'Accept-Encoding' }
  let compressed: Promise<Uint8Array> | undefined
  return async (call) => {
    if (matchesNoneMatch(call, tag)) return { status: 304, headers: shared }
    const coding = findCoding(call.headers['accept-encoding'], CODINGS)
    if (text.length < COMPRESSED_MIN || coding === undefined) {
      return { status: 200, raw: text, headers: shared }
    }
    compressed ??= compress(text)
    return {
      status: 200,
      raw: await compressed,
      headers: { ...shared, 'content-encoding': coding },
    }
  }
}
