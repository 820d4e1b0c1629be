/**
 * Serves the console and the portal from memory: shells under `/console` and `/portal`, hashed
 * files under `/assets`. The pages themselves call the API.
 */

import { Failure } from '../../kernel/failure.ts'
import { type Answer, type Call, type Route, route } from '../../protocol/http/call.ts'
import { matchesNoneMatch } from '../../protocol/http/conditional.ts'
import { findCoding } from '../../protocol/http/content-negotiation.ts'
import { PAGE_POLICY } from '../../protocol/http/page-policy.ts'
import { type Asset, type BuiltPages, CODINGS } from './assets.ts'
import { type Branding, type Logo, shellValues } from './branding.ts'

interface PagesOptions {
  /** Undefined if the pages were not built. */
  readonly pages: BuiltPages | undefined
  /** The display name of the API in the console. */
  readonly service: string
  /** The branding of the portal. */
  readonly branding: Branding
  /** The version of the program. */
  readonly release: string
  /** Origins whose pages may frame the portal. */
  readonly frameAncestors: readonly string[] | '*'
}

const SHELL_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
} as const

const NOT_BUILT = 'The pages are not built. Run in the checkout: npm run build:pages\n'

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '"': '&quot;' }
const escapeAttribute = (text: string): string => text.replace(/[&<"]/g, (c) => ENTITIES[c]!)

/** Replaces `%name%` in a shell. */
const fillIn = (shell: string, values: Readonly<Record<string, string>>): string =>
  shell.replace(/%(\w+)%/g, (text, name: string) =>
    name in values ? escapeAttribute(values[name]!) : text,
  )

function shellHandler(
  name: string,
  { pages, release }: PagesOptions,
  values: Readonly<Record<string, string>>,
  frameAncestors: readonly string[] | '*',
): () => Answer {
  const shell = pages?.shells.get(name)
  if (shell === undefined) {
    const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }
    return () => ({ status: 503, raw: NOT_BUILT, headers })
  }
  const raw = fillIn(shell, { ...values, release })
  const framers = frameAncestors.length === 0 ? "'none'" : [...frameAncestors].join(' ')
  const headers = {
    ...SHELL_HEADERS,
    'content-security-policy': `${PAGE_POLICY}; frame-ancestors ${framers}`,
    ...(frameAncestors.length === 0 && { 'x-frame-options': 'DENY' }),
  }
  return () => ({ status: 200, raw, headers })
}

/** Caches may store the logo for an hour: the next configuration may name another one. */
function sendLogo(logo: Logo | undefined): Answer {
  if (!logo) throw new Failure('not_found')
  const headers = { 'content-type': logo.type, 'cache-control': 'public, max-age=3600' }
  return { status: 200, raw: logo.bytes, headers }
}

/** Sends a file, compressed for a caller that accepts it; 304 to one that has it. */
export function sendAsset(call: Call, asset: Asset): Answer {
  const headers: Record<string, string> = {
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'Accept-Encoding',
    etag: asset.etag,
  }
  if (matchesNoneMatch(call, asset.etag)) return { status: 304, headers }
  headers['content-type'] = asset.type
  const coding = findCoding(call.headers['accept-encoding'], CODINGS)
  const encoded = coding && asset.encoded[coding]
  if (!encoded) return { status: 200, raw: asset.plain, headers }
  headers['content-encoding'] = coding
  return { status: 200, raw: encoded, headers }
}

/** Every path below a shell returns it: the page's script selects the view by the path. */
export function pageRoutes(options: PagesOptions): Route[] {
  const assets = options.pages?.assets
  const { service, branding, frameAncestors } = options
  const console = shellHandler('console', options, { service }, [])
  const portal = shellHandler('portal', options, shellValues(branding), frameAncestors)
  return [
    ...['/console', '/console/*'].map((path) => route(path, { GET: { handle: console } })),
    ...['/portal', '/portal/*'].map((path) => route(path, { GET: { handle: portal } })),
    route('/portal/logo', { GET: { handle: () => sendLogo(branding.logo) } }),
    route('/assets/*', {
      GET: {
        handle(call) {
          const asset = assets?.get(call.params['*']!)
          if (!asset) throw new Failure('not_found')
          return sendAsset(call, asset)
        },
      },
    }),
  ]
}
