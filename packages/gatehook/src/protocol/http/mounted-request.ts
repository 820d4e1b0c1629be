/**
 * A request that another program has accepted (§17.4). Its address, scheme and target are those
 * that the program passes. Forwarded headers are not read, and loopback has no
 * privilege.
 */
import type { IncomingMessage } from 'node:http'
import { isLoopback, unmapAddress } from '../../kernel/address.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Step } from './call.ts'
import type { ResolveOrigin } from './proxy-trust.ts'

export interface MountedRequest {
  /** Path and query below the path of the public URL. */
  readonly target: string
  /** Undefined: the program does not know it. */
  readonly address: string | undefined
  readonly secure: boolean
}

const MOUNTED = Symbol('mounted')

type Adopted = IncomingMessage & { [MOUNTED]?: MountedRequest }

export const adoptRequest = (request: IncomingMessage, mounted: MountedRequest): void => {
  ;(request as Adopted)[MOUNTED] = mounted
}

export const mountedOf = (request: IncomingMessage): MountedRequest | undefined =>
  (request as Adopted)[MOUNTED]

/** Returns the address of the peer, and whether it uses TLS. */
export function connectionOf(request: IncomingMessage) {
  const mounted = mountedOf(request)
  if (mounted) return { address: mounted.address, isEncrypted: mounted.secure }
  const { socket } = request
  const isEncrypted = 'encrypted' in socket && socket.encrypted === true
  return { address: socket.remoteAddress, isEncrypted }
}

/** Returns the failure of a request whose body another part of the program has read. */
export function findReadBody(request: IncomingMessage): Failure | undefined {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers
  if (length === '0' && coding === undefined) return undefined
  if (!request.readableDidRead && !request.readableEnded) return undefined
  return new Failure('internal_error', BODY_READ)
}

export const BODY_READ =
  'Another part of the application has read the body. Mount Gatehook before its body parsers.'

export const resolveMounted: ResolveOrigin = (remote, isEncrypted, _, host) => ({
  address: unmapAddress(remote ?? ''),
  secure: isEncrypted,
  local: false,
  host,
})

/**
 * Rejects plain HTTP, except from this machine: the program says that TLS ends before it. Without
 * an address, the public URL decides: the client chooses the host that it names.
 */
export function requireMountedHttps(publicUrl: string): Step {
  const isLocal = isLoopback(new URL(publicUrl).hostname)
  return (call) => {
    if (call.secure || call.kind === 'probe') return
    if (!(call.address === '' ? isLocal : isLoopback(call.address))) {
      throw new Failure('https_required')
    }
  }
}
