/**
 * Reads of resources from replicas, at least as new as all that the caller has written or seen.
 * This node has a position for each credential; `Gatehook-Read-After` carries it between nodes.
 */

import { Failure } from '../../kernel/failure.ts'
import type { Principal } from '../../kernel/principal.ts'
import { formatLogPosition, parseLogPosition } from '../../platform/storage/log-position.ts'
import type { ReplicaReads } from '../../platform/storage/replica-reads.ts'
import type { Answer, Call, Endpoint, Operation } from '../../protocol/http/call.ts'

const HEADER = 'gatehook-read-after'
/** Credentials with a position of their own; all others share the greatest evicted one. */
const CREDENTIALS_MAX = 10_000
/** Later than any position: the caller reads from the primary. */
const UNKNOWN = 1n << 64n

const keyOf = ({ kind, subject, keyId, clientId, customer }: Principal): string =>
  `${kind} ${customer} ${subject} ${keyId ?? clientId ?? ''}`

/** Returns the position that the request requires. Throws 400 for one that is malformed. */
function requestedPosition({ headers }: Call): bigint {
  const text = headers[HEADER]
  if (text === undefined) return 0n
  const position = parseLogPosition(String(text))
  if (position !== undefined) return position
  throw new Failure('invalid_request', 'Gatehook-Read-After must be the value of a response.')
}

function createPositions() {
  const positions = new Map<string, bigint>()
  let evicted = 0n
  return {
    find: (principal: Principal | undefined): bigint =>
      (principal && positions.get(keyOf(principal))) ?? evicted,
    /** Stores a position that a request has reached; `from`: the one that it required. */
    store(principal: Principal | undefined, position: bigint, from: bigint): void {
      if (!principal) return
      const key = keyOf(principal)
      const current = positions.get(key) ?? 0n
      if (position <= current && !(current === UNKNOWN && from === UNKNOWN)) return
      positions.delete(key)
      positions.set(key, position)
      if (positions.size <= CREDENTIALS_MAX) return
      const [oldest, value] = positions.entries().next().value!
      positions.delete(oldest)
      if (value > evicted && value !== UNKNOWN) evicted = value
    },
  }
}

/** Returns the function that lets endpoints under `/api` read from replicas. */
export function createReadAfter(replicas: ReplicaReads): (endpoint: Endpoint) => Endpoint {
  const positions = createPositions()
  const complete = (call: Call, answer: Answer, position: bigint, from: bigint): Answer => {
    positions.store(call.principal, position, from)
    const headers = { ...answer.headers, [HEADER]: formatLogPosition(position) }
    return { ...answer, headers }
  }
  const requiredPosition = (call: Call) => {
    const [own, requested] = [positions.find(call.principal), requestedPosition(call)]
    return own > requested ? own : requested
  }
  /** The present position contains the write whose own one was not read. */
  const findPosition = () => replicas.position().catch(() => UNKNOWN)
  const read = (handle: Operation['handle']) => async (call: Call) => {
    const required = requiredPosition(call)
    const after = required === UNKNOWN ? await findPosition() : required
    const { result, position } = await replicas.run(after, async () => handle(call))
    return complete(call, result, position, required)
  }
  const write = (handle: Operation['handle']) => async (call: Call) => {
    const required = requiredPosition(call)
    const answer = await handle(call)
    const position = await replicas.position().catch(() => undefined)
    if (position !== undefined) return complete(call, answer, position, required)
    positions.store(call.principal, UNKNOWN, required) // the write has succeeded
    return answer
  }
  return (endpoint) => {
    if (endpoint.kind !== 'api') return endpoint
    const methods = Object.entries(endpoint.methods).map(([method, operation]) => {
      const wrap = method === 'GET' ? read : write
      return [method, { ...operation, handle: wrap(operation.handle) }]
    })
    return { ...endpoint, methods: Object.fromEntries(methods) }
  }
}
