/**
 * Resolves the name of a database’s host, within a time of its own: a silent resolver is
 * no fault of the server. Equal lookups share one of the system, which occupies a thread.
 */
import dns, { type LookupAddress, type LookupOptions } from 'node:dns'
import { isIP } from 'node:net'
import type { Client } from 'pg'

/** Shorter than the time in which a connection must open. */
const LOOKUP_MS = 1_500

/** A name has no address, or the resolver gives no answer: the codes are those of the system. */
class LookupError extends Error {
  override readonly name = 'LookupError'
  readonly code: string

  constructor(host: string, code: string, reason: string) {
    const resolvers = dns.getServers().join(', ')
    super(`getaddrinfo ${code} ${host}: ${reason}${resolvers && ` (resolver ${resolvers})`}`)
    this.code = code
  }
}

type ResolvedAddress = string | LookupAddress[]
type OnLookup = (error: Error | null, result?: ResolvedAddress, family?: number) => void

interface ResolvedHost {
  readonly result: ResolvedAddress
  readonly family: number | undefined
}

const inFlight = new Map<string, Promise<ResolvedHost>>()

function resolve(host: string, options: LookupOptions): Promise<ResolvedHost> {
  const key = JSON.stringify([host, options])
  const shared = inFlight.get(key)
  if (shared) return shared
  const lookup = new Promise<ResolvedHost>((resolve, reject) => {
    dns.lookup(host, options, (error, result, family) => {
      inFlight.delete(key)
      if (!error) return resolve({ result, family })
      const isUnknown = error.code === 'ENOTFOUND'
      const reason = isUnknown ? 'the name has no address' : 'the resolver failed'
      reject(new LookupError(host, error.code ?? 'EAI_FAIL', reason))
    })
  })
  inFlight.set(key, lookup)
  return lookup
}

function lookUp(host: string, options: LookupOptions, done: OnLookup): void {
  const reason = `the resolver has not answered for ${LOOKUP_MS / 1_000} s`
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new LookupError(host, 'EAI_AGAIN', reason)), LOOKUP_MS)
  Promise.race([resolve(host, options), late.promise])
    .finally(() => clearTimeout(timer))
    .then(({ result, family }) => done(null, result, family), done)
}

/** The part of a socket that pg uses to connect. */
interface ConnectingSocket {
  connect(port: number | string | object, host?: string): unknown
}

/** Returns the client, which limits the time that the name of its host takes. */
export function limitLookup(client: Client): Client {
  const stream = client.connection.stream as unknown as ConnectingSocket
  const { connect } = stream
  stream.connect = (port, host) => {
    const isName = host !== undefined && isIP(host) === 0
    return isName
      ? connect.call(stream, { port, host, lookup: lookUp })
      : connect.call(stream, port, host)
  }
  return client
}
