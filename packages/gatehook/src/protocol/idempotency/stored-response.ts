/** Reads the response that a repeat gets. A large one takes its turn, as a page does (§11.5). */
import type { Vault } from '../../kernel/secret.ts'
import type { Database } from '../../platform/storage/database.ts'
import type { Call } from '../http/call.ts'
import { LARGE_BYTES } from '../http/egress.ts'
import { inProgress } from './outcome.ts'
import { type IdempotencyRecord, readAnswer } from './store.ts'
import { RESPONSE_PURPOSE, responseRow } from './tables.ts'

/** Throws `idempotency_in_progress` if the record has no response yet. */
export async function readStoredResponse(
  { db, vault }: { readonly db: Database; readonly vault: Vault },
  call: Call,
  { id, answer_bytes: bytes }: IdempotencyRecord,
): Promise<string> {
  if (bytes === null) throw inProgress()
  const large = bytes < LARGE_BYTES ? undefined : await call.beginLarge()
  const { scope } = call.principal!
  const answer = await readAnswer(db, scope, id)
  if (!answer) throw inProgress()
  await large?.count(answer.length)
  return vault.decrypt(RESPONSE_PURPOSE, responseRow(scope, id), answer).toString()
}
