/**
 * Who is really calling, over what, and which host they meant: the word of trusted proxies, and of
 * no one else (§2.3). Pure, given what the socket and the headers say.
 *
 * RFC 7239 `Forwarded` is not read: a proxy that writes `X-Forwarded-*` passes a `Forwarded` of the
 * caller's own through untouched, and believing it would let anybody choose address and scheme.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { createRangeMatcher, isLoopback, unmapAddress } from '../kernel/address.ts'
import { Failure } from '../kernel/failure.ts'
import type { Step } from './call.ts'

export interface Judgement {
  readonly address: string
  /** HTTPS all the way from the caller to us or to a trusted proxy. */
  readonly secure: boolean
  /** Plain HTTP, but straight from a loopback address of this machine. */
  readonly local: boolean
  readonly host: string
}

/** `remote` as the socket says it; `host` of the request line or the `Host` header. */
export type Front = (
  remote: string | undefined,
  encrypted: boolean,
  headers: IncomingHttpHeaders,
  host: string,
) => Judgement

/** `trustProxy`: as `GATEHOOK_TRUST_PROXY` has it; empty or undefined: no proxy is trusted. */
export function createFront(trustProxy: string | undefined): Front {
  const isTrusted = createRangeMatcher(list(trustProxy || undefined))
  return (remote, encrypted, headers, host) => {
    const peer = unmapAddress(remote ?? '')
    if (!trustProxy || !isTrusted(peer)) {
      return { address: peer, secure: encrypted, local: !encrypted && isLoopback(peer), host }
    }
    const forwarded =
      headers['x-forwarded-for'] ?? headers['x-forwarded-proto'] ?? headers['x-forwarded-host']
    // A trusted machine that forwards nothing is no proxy in this request, but a caller.
    if (forwarded === undefined) {
      return { address: peer, secure: encrypted, local: !encrypted && isLoopback(peer), host }
    }
    const { address, hops } = walk(list(headers['x-forwarded-for']), peer, isTrusted)
    const proto = nth(list(headers['x-forwarded-proto']), hops)
    return {
      address,
      secure: proto?.toLowerCase() === 'https',
      local: false,
      host: nth(list(headers['x-forwarded-host']), hops) ?? host,
    }
  }
}

const list = (value: string | string[] | undefined): string[] =>
  value === undefined
    ? []
    : String(value)
        .split(',')
        .map((part) => part.trim())

/** From the right past trusted hops: what stands left of them the caller may have made up. */
function walk(
  chain: readonly string[],
  peer: string,
  isTrusted: (address: string) => boolean,
): { address: string; hops: number } {
  let address = peer
  let hops = 0
  for (let i = chain.length - 1; i >= 0 && isTrusted(address); i--) {
    const next = unmapAddress(withoutPort(chain[i]!).toLowerCase())
    if (isIP(next) === 0) break
    address = next
    hops++
  }
  return { address, hops: Math.max(hops, 1) }
}

/** `1.2.3.4:5678` and `[::1]:80` as some proxies write them. */
function withoutPort(entry: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(entry)
  if (bracketed) return bracketed[1]!
  return /^[\d.]+:\d+$/.test(entry) ? entry.slice(0, entry.indexOf(':')) : entry
}

/** The value the outermost trusted proxy wrote; proxies that overwrite leave one value only. */
const nth = (values: readonly string[], hops: number): string | undefined =>
  values[Math.max(0, values.length - hops)]

/** 403 `https_required` unless HTTPS, this machine's own loopback, or a probe. Never a redirect. */
export const requireHttps: Step = (call) => {
  if (!call.secure && !call.local && call.kind !== 'probe') throw new Failure('https_required')
}

/** The host part of `host:port`, lower case, without the root's dot. */
function hostName(host: string): string {
  const name = /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/.exec(host)?.[1]
  return (name ?? '').toLowerCase().replace(/\.$/, '')
}

export interface KnownHosts {
  readonly publicUrl: string
  /** The bind address. */
  readonly host: string
}

/** 421 `misdirected_request` for a Host that is not ours, any port; probes exempt. */
export function knownHost({ publicUrl, host }: KnownHosts): Step {
  const bound = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
  const ours = new Set([hostName(new URL(publicUrl).host), hostName(bound)])
  const local = isLoopback(host)
  let last = '' // callers mostly send one and the same
  return (call) => {
    if (call.kind === 'probe' || (call.host === last && last !== '')) return
    const name = hostName(call.host)
    if (!ours.has(name) && !(local && name !== '' && isLoopback(name))) {
      throw new Failure('misdirected_request')
    }
    last = call.host
  }
}
