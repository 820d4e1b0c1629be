/** The part of tokens: what it is configured to, and whom it asks about a customer. */
import { rateFrom } from '../access/key-verifier.ts'
import { findCustomer } from '../access/store.ts'
import type { RecordEvent } from '../events/store.ts'
import type { Lister } from '../lists/list.ts'
import { endSignIns } from '../oauth/browser.ts'
import type { Database } from '../storage/database.ts'
import type { CustomerFacts, TokenLookup, Tokens } from '../tokens/grant.ts'
import { createTokens } from '../tokens/tokens.ts'
import type { Ground } from './ground.ts'

export interface TokensFrom {
  readonly record: RecordEvent
  readonly list: Lister
  /** Asked when a token is refreshed; the rooms that know may be made later. */
  readonly lookup: Omit<TokenLookup, 'customer'>
}

export function tokensOf(ground: Ground, { record, list, lookup }: TokensFrom): Tokens {
  const { config, db, publicUrl } = ground
  return createTokens({
    ...ground,
    record,
    list,
    alsoEnd: endSignIns,
    lookup: { ...lookup, customer: (id) => customerFacts(db, id) },
    lives: {
      accessMs: config.accessTokenTtlS * 1000,
      idleMs: config.refreshTokenTtlS * 1000,
      absoluteMs: config.refreshTokenMaxS * 1000,
      graceMs: config.refreshGraceS * 1000,
    },
    issuer: publicUrl,
    audience: () => config.audience ?? publicUrl(),
  })
}

async function customerFacts(db: Database, id: string): Promise<CustomerFacts | undefined> {
  const row = await findCustomer(db, id)
  return row && { no: row.no, suspended: row.suspended !== 0, ...rateFrom(row.limits) }
}
