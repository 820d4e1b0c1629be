/**
 * Determines client address, scheme and host from the socket and the forwarded headers of trusted
 * proxies (§2.3). Pure.
 *
 * RFC 7239 `Forwarded` is not read: a proxy that writes `X-Forwarded-*` passes the client's own
 * `Forwarded` through, so any client could choose address and scheme.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { createRangeMatcher, isLoopback, unmapAddress } from '../../kernel/address.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Step } from './call.ts'

interface RequestOrigin {
  readonly address: string
  /** HTTPS from the client to this server or to a trusted proxy. */
  readonly secure: boolean
  /** Plain HTTP, directly from a loopback address of this machine. */
  readonly local: boolean
  readonly host: string
}

/**
 * @param remote The peer address of the socket.
 * @param host The host of the request line or the `Host` header.
 */
export type ResolveOrigin = (
  remote: string | undefined,
  isEncrypted: boolean,
  headers: IncomingHttpHeaders,
  host: string,
) => RequestOrigin

/** `trustProxy`: the value of `GATEHOOK_TRUST_PROXY`; empty or undefined: no proxy is trusted. */
export function createOriginResolver(trustProxy: string | undefined): ResolveOrigin {
  const isTrusted = createRangeMatcher(splitList(trustProxy || undefined))
  return (remote, isEncrypted, headers, host) => {
    const peer = unmapAddress(remote ?? '')
    const forwarded =
      headers['x-forwarded-for'] ?? headers['x-forwarded-proto'] ?? headers['x-forwarded-host']
    // A trusted machine that sends no forwarded headers is a client itself.
    if (!trustProxy || !isTrusted(peer) || forwarded === undefined) {
      return { address: peer, secure: isEncrypted, local: !isEncrypted && isLoopback(peer), host }
    }
    const { address, hops } = skipTrusted(headers['x-forwarded-for'], peer, isTrusted)
    const proto = hopValue(headers['x-forwarded-proto'], hops)
    return {
      address,
      secure: proto?.toLowerCase() === 'https',
      local: false,
      host: hopValue(headers['x-forwarded-host'], hops) ?? host,
    }
  }
}

const splitList = (value: string | undefined): string[] =>
  value === undefined ? [] : value.split(',').map((part) => part.trim())

/** Reads a list from the right: its left part may be long, and of the client. */
function* fromRight(value: string | string[] | undefined): Generator<string> {
  if (value === undefined) return
  const text = String(value)
  for (let end = text.length; end >= 0; ) {
    const comma = end === 0 ? -1 : text.lastIndexOf(',', end - 1)
    yield text.slice(comma + 1, end).trim()
    end = comma
  }
}

/** Trusted proxies before this server; a client can invent more. */
const HOPS_MAX = 32

/** Skips trusted hops from the right: the client may have invented the entries left of them. */
function skipTrusted(
  chain: string | string[] | undefined,
  peer: string,
  isTrusted: (address: string) => boolean,
): { address: string; hops: number } {
  let address = peer
  let hops = 0
  for (const entry of fromRight(chain)) {
    if (hops === HOPS_MAX || !isTrusted(address)) break
    const next = unmapAddress(withoutPort(entry).toLowerCase())
    if (isIP(next) === 0) break
    address = next
    hops++
  }
  return { address, hops: Math.max(hops, 1) }
}

/** Some proxies add the port: `1.2.3.4:5678`, `[::1]:80`. */
function withoutPort(entry: string): string {
  const bracketMatch = /^\[([^\]]*)\](?::\d+)?$/.exec(entry)
  if (bracketMatch) return bracketMatch[1]!
  return /^[\d.]+:\d+$/.test(entry) ? entry.slice(0, entry.indexOf(':')) : entry
}

/**
 * Returns the value of the outermost trusted proxy; proxies that overwrite leave one value only.
 */
function hopValue(list: string | string[] | undefined, hops: number): string | undefined {
  let value: string | undefined
  let count = 0
  for (const entry of fromRight(list)) {
    value = entry
    if (++count === hops) break
  }
  return value
}

/**
 * Rejects plain HTTP with 403 `https_required`, except on loopback and for probes. No redirects.
 */
export const requireHttps: Step = (call) => {
  if (!call.secure && !call.local && call.kind !== 'probe') throw new Failure('https_required')
}

/** Returns the host part of `host:port` in lower case, without the final dot. */
function hostName(host: string): string {
  const name = /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/.exec(host)?.[1]
  return (name ?? '').toLowerCase().replace(/\.$/, '')
}

interface ServedHosts {
  readonly publicUrl: string
  /** The bind address. */
  readonly host: string
}

/**
 * Rejects a Host that this server does not serve with 421 `misdirected_request`, except for probes.
 */
export function requireServedHost({ publicUrl, host }: ServedHosts): Step {
  const boundHost = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
  const servedNames = new Set([hostName(new URL(publicUrl).host), hostName(boundHost)])
  const isLocal = isLoopback(host)
  let latest = '' // most requests name the same host
  return (call) => {
    if (call.kind === 'probe' || (call.host === latest && latest !== '')) return
    const name = hostName(call.host)
    if (!servedNames.has(name) && !(isLocal && name !== '' && isLoopback(name))) {
      throw new Failure('misdirected_request')
    }
    latest = call.host
  }
}
