/** Validates and parses the URLs of receivers (§9.9). Pure; addresses are checked when dialed. */
import { isIP } from 'node:net'
import { BoundedMap } from '../../kernel/bounded-map.ts'
import { isWebUrl } from '../../kernel/uri.ts'
import { isDialable } from './address-guard.ts'

export type TargetProblem = 'invalid' | 'not_https' | 'credentials' | 'fragment' | 'address'

/** A receiver's URL. */
interface WebhookTarget {
  readonly problem: TargetProblem | undefined
  readonly origin: string
  /** With the query. */
  readonly path: string
}

const MAX_URL_CHARACTERS = 2048
const MAX_CACHED_TARGETS = 1_000

/**
 * Returns the problem of a receiver's URL, as far as its text shows. `address`: the host is an
 * address that must not be dialed, in any spelling (`0x7f.1`, `[::ffff:7f00:1]`), or `localhost`.
 */
export function findTargetProblem(text: string, allowPrivate: boolean): TargetProblem | undefined {
  if (text.length > MAX_URL_CHARACTERS || !isWebUrl(text)) return 'invalid'
  const url = new URL(text)
  if (url.protocol === 'http:' && !allowPrivate) return 'not_https'
  // `URL` drops empty credentials (`//@host`) and empty fragments, so check the text.
  const authority = /^[^:]*:\/\/([^/?#]*)/.exec(text)?.[1] ?? ''
  if (authority.includes('@')) return 'credentials'
  if (text.includes('#')) return 'fragment'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0) return isDialable(host, allowPrivate) ? undefined : 'address'
  const isLocal = /(^|\.)localhost\.?$/.test(host)
  return isLocal && !allowPrivate ? 'address' : undefined
}

/** Returns a function that parses a URL; it caches the latest targets. */
export function createTargetParser(allowPrivate: boolean): (url: string) => WebhookTarget {
  const targets = new BoundedMap<string, WebhookTarget>(MAX_CACHED_TARGETS)
  return (text) =>
    targets.getOrCreate(text, () => {
      const problem = findTargetProblem(text, allowPrivate)
      const url = problem === undefined ? new URL(text) : undefined
      return { problem, origin: url?.origin ?? '', path: url ? url.pathname + url.search : '' }
    })
}
