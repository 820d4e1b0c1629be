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
    /** Stores a position that a request has reached. */
    store(principal: Principal | undefined, position: bigint): void {
      if (!principal) return
      const key = keyOf(principal)
      if (position <= (positions.get(key) ?? 0n)) return
      positions.delete(key)
      positions.set(key, position)
      if (positions.size <= CREDENTIALS_MAX) return
      const [oldest, value] = positions.entries().next().value!
      positions.delete(oldest)
      if (value > evicted) evicted = value
    },
  }
}

/** Returns the function that lets endpoints under `/api` read from replicas. */
export function createReadAfter(replicas: ReplicaReads): (endpoint: Endpoint) => Endpoint {
  const positions = createPositions()
  const complete = (call: Call, answer: Answer, position: bigint | undefined): Answer => {
    // The request has written nothing, and its caller can read nothing of the primary now.
    if (position === undefined) return answer
    positions.store(call.principal, position)
    const headers = { ...answer.headers, [HEADER]: formatLogPosition(position) }
    return { ...answer, headers }
  }
  const requiredPosition = (call: Call) => {
    const [own, requested] = [positions.find(call.principal), requestedPosition(call)]
    return own > requested ? own : requested
  }
  const read = (handle: Operation['handle']) => async (call: Call) => {
    const after = requiredPosition(call)
    const { result, position } = await replicas.run(after, async () => handle(call))
    return complete(call, result, position)
  }
  const write = (handle: Operation['handle']) => async (call: Call) => {
    requestedPosition(call)
    const { result, position } = await replicas.runWrite(async () => handle(call))
    return complete(call, result, position)
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
