/**
 * The request that a job answers, and its response (§15.6): encrypted beside the results of its
 * steps. Another node continues the job from it.
 */
import type { Principal } from '../../kernel/principal.ts'
import type { Vault } from '../../kernel/secret.ts'
import {
  ATTEMPT_ROW,
  findResult,
  RESPONSE_ROW,
  storeStep,
} from '../../platform/jobs/steps-store.ts'
import { STEP_PURPOSE, stepRow } from '../../platform/jobs/tables.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import type { Call } from '../../protocol/http/call.ts'
import { MediaBody } from '../../protocol/http/media-body.ts'
import { Query } from '../../protocol/http/query.ts'
import { readOutcome, type StoredOutcome, toBase64 } from '../../protocol/idempotency/outcome.ts'

export interface StoredRequest {
  /** The members that handlers, audit rows and events need. */
  readonly call: Call
  /** Of the caller, the path and the `Idempotency-Key`. */
  readonly hash: string
  /** The beginning of the first attempt, in epoch milliseconds. */
  readonly now: number
}

type PrincipalText = Omit<Principal, 'scopes' | 'caller'> & {
  readonly scopes: readonly string[]
  readonly caller?: PrincipalText
}

const principalText = ({ scopes, caller, ...rest }: Principal): PrincipalText => ({
  ...rest,
  scopes: [...scopes],
  ...(caller && { caller: principalText(caller) }),
})

const principalOf = ({ scopes, caller, ...rest }: PrincipalText): Principal => ({
  ...rest,
  scopes: new Set(scopes),
  ...(caller && { caller: principalOf(caller) }),
})

function writeRequest({ call, hash, now }: StoredRequest): string {
  const { id, address, method, path, version, params, query, body } = call
  const principal = principalText(call.principal!)
  const { accept, 'content-type': contentType } = call.headers
  const headers = { accept, 'content-type': contentType }
  const sent = { id, address, method, path, version, params, headers, principal }
  const stored = body instanceof MediaBody ? { bytes: toBase64(body.bytes) } : { body }
  return JSON.stringify({ hash, now, sent, ...stored, query: query.entries })
}

function parseRequest(text: string): StoredRequest {
  const { hash, now, sent, query, bytes, ...stored } = JSON.parse(text)
  const principal = principalOf(sent.principal)
  const body =
    bytes === undefined
      ? stored.body
      : new MediaBody(sent.headers['content-type'], Buffer.from(bytes, 'base64'))
  const parts = { principal, body, query: new Query(query), eventIds: [] }
  return { hash, now, call: { ...sent, ...parts } as Call }
}

export function createStoredRequests({ db, vault }: { db: Database; vault: Vault }) {
  const find = async (job: string, name: string): Promise<string | undefined> => {
    const result = await findResult(db, job, name)
    return result && vault.decrypt(STEP_PURPOSE, stepRow(job, name), result).toString()
  }
  return {
    insert(tx: Tx, job: string, request: StoredRequest) {
      const row = stepRow(job, ATTEMPT_ROW)
      const result = vault.encrypt(STEP_PURPOSE, row, writeRequest(request))
      const { scope } = request.call.principal!
      return storeStep(tx, { job, name: ATTEMPT_ROW, scope, result, now: request.now })
    },
    /** Returns the request of a job. Throws if no secret of this node decrypts it. */
    async read(job: string): Promise<StoredRequest> {
      const text = await find(job, ATTEMPT_ROW)
      if (text === undefined) throw new Error('the request of the job was lost')
      return parseRequest(text)
    },
    async readResponse(job: string): Promise<StoredOutcome | undefined> {
      const text = await find(job, RESPONSE_ROW)
      return text === undefined ? undefined : readOutcome(text)
    },
  }
}

export type StoredRequests = ReturnType<typeof createStoredRequests>
