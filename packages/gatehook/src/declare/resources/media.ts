/** Bodies of routes that are not JSON (§15.10): their declaration, and its mistakes. */
import { ANY_TYPE } from '../../protocol/http/content-negotiation.ts'
import type { MediaBody } from '../../protocol/http/media-body.ts'

export type MediumName = `${string}/${string}`

/** A body of a media type, or of one of several. */
export interface MediaDeclaration {
  readonly media: MediumName | readonly MediumName[]
}

const MEDIA_TYPE = /^[a-z]+\/[a-z0-9][a-z0-9.+-]*$/

/** Whether a body has a media type. A member of the name `media` is a field or a list of it. */
export function isMedia(declared: object | null): declared is MediaDeclaration {
  const { media } = (declared ?? {}) as MediaDeclaration
  return typeof media === 'string' || (Array.isArray(media) && media.every(isText))
}

const isText = (value: unknown): boolean => typeof value === 'string'

/** Returns the declared media types; undefined for a body that is JSON. */
export const mediaTypesOf = (declared: object | undefined): readonly string[] | undefined =>
  declared && isMedia(declared) ? [declared.media].flat() : undefined

export function findMediaMistakes(part: 'input' | 'output', { media }: MediaDeclaration): string[] {
  const types: readonly string[] = [media].flat()
  const wrong = types.filter((type) => !MEDIA_TYPE.test(type))
  return [
    ...(types.length === 0 ? [`${part}: media names a media type, for example text/csv`] : []),
    ...(new Set(types).size < types.length ? [`${part}: a media type occurs twice`] : []),
    ...wrong.map((type) => `${part}: ${type} is not a media type`),
  ]
}

/** The largest body of a route or a resource. */
export const BODY_BYTES_MAX = 16 * 1024 * 1024

/** Reports a `maxBodyBytes` that is no size. */
export const findBodySizeMistakes = (bytes: unknown, max = BODY_BYTES_MAX): string[] =>
  bytes === undefined || (Number.isInteger(bytes) && Number(bytes) > 0 && Number(bytes) <= max)
    ? []
    : [`maxBodyBytes is from 1 to ${max}`]

/** Up to this size, bytes can share their memory with those of other requests. */
const SHARED_BYTES_MAX = 65_536

/** Returns the bytes of a request, in memory of their own. */
export function bytesOf(body: unknown): Uint8Array {
  const { bytes } = body as MediaBody
  return bytes.length > SHARED_BYTES_MAX
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
    : new Uint8Array(bytes)
}

interface MediaRoute {
  readonly method: string
  readonly input?: object
  readonly output?: object
  readonly maxBodyBytes?: number
  readonly forward?: object
}

/** Returns what the operation of a route reads and writes. */
export const mediaOperation = ({ method, input, output, maxBodyBytes, forward }: MediaRoute) => {
  const accepts = forward && !input && method !== 'GET' ? ANY_TYPE : mediaTypesOf(input)
  const produces = forward && !output ? ANY_TYPE : mediaTypesOf(output)
  return {
    ...(produces && { produces }),
    ...(method !== 'GET' && { body: 'optional' as const, maxBodyBytes }),
    ...(accepts && { accepts, readsBytes: true }),
  }
}
