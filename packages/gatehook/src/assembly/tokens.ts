/** Assembles access and refresh tokens: their lifetimes, and the lookups that sessions need. */
import { parseRequestRates } from '../access/customers.ts'
import { findCustomer } from '../access/store.ts'
import type { RecordEvent } from '../events/store.ts'
import type { Lister } from '../lists/list.ts'
import { endSignIns } from '../oauth/browser.ts'
import type { KnownClients } from '../oauth/known-clients.ts'
import { clientFacts, clientPermissions } from '../oauth/room.ts'
import type { Database } from '../storage/database.ts'
import type { CustomerFacts, Tokens } from '../tokens/grant.ts'
import { createTokens } from '../tokens/tokens.ts'
import type { Foundation } from './foundation.ts'
import type { LateCalls } from './late-calls.ts'

export interface TokenAssembly {
  readonly record: RecordEvent
  readonly list: Lister
  readonly clients: KnownClients
  readonly findPerson: LateCalls['findPerson']
}

export function assembleTokens(
  { config, db, clock, random, trail, vault, log, publicUrl }: Foundation,
  { record, list, clients, findPerson }: TokenAssembly,
): Tokens {
  return createTokens({
    db,
    clock,
    random,
    trail,
    vault,
    log,
    record,
    list,
    alsoEnd: endSignIns,
    lookup: {
      person: findPerson,
      client: clientFacts(clients, clock),
      clientPermissions: (id) => clientPermissions(db, id),
      customer: (id) => customerFacts(db, id),
    },
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
  return row && { no: row.no, suspended: row.suspended !== 0, ...parseRequestRates(row.limits) }
}
