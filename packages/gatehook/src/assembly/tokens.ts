/** Assembles access and refresh tokens: their lifetimes, and the lookups that sessions need. */

import type { RecordEvent } from '../history/events/store.ts'
import type { Administration } from '../identity/access/administration.ts'
import { principalMembersOf } from '../identity/access/customers.ts'
import { personMaker } from '../identity/access/given-access.ts'
import { createAudiences } from '../identity/access/protected-resources.ts'
import { findCustomer } from '../identity/access/store.ts'
import { findClientPermissions, findTokenClient } from '../identity/oauth/api.ts'
import type { ClientCache } from '../identity/oauth/client-cache.ts'
import type { TokenCustomer, Tokens } from '../identity/tokens/api.ts'
import { createTokens } from '../identity/tokens/tokens.ts'
import type { Database } from '../platform/storage/database.ts'
import type { Lister } from '../protocol/lists/list.ts'
import type { Foundation } from './foundation.ts'
import type { LateCalls } from './late-calls.ts'

export interface TokenAssembly {
  readonly record: RecordEvent
  readonly administration: Pick<Administration, 'endGivenAccess'>
  readonly list: Lister
  readonly clients: ClientCache
  readonly late: Pick<LateCalls, 'findPerson' | 'signOutEverywhere'>
}

export function assembleTokens(
  { config, db, clock, random, trail, vault, log, publicUrl, restore }: Foundation,
  { record, administration, list, clients, late }: TokenAssembly,
): Tokens {
  const { findPerson, signOutEverywhere } = late
  return createTokens({
    db,
    clock,
    random,
    trail,
    vault,
    log,
    record,
    endGivenAccess: (tx, { subject, clientId: client, session }) =>
      administration.endGivenAccess!(tx, {
        ...{ maker: personMaker(subject), client },
        ...(session !== undefined && { session }),
      }),
    list,
    signOutEverywhere,
    lookup: {
      findPerson,
      findClient: (id, reader) => findTokenClient(clients, clock, id, reader),
      findClientPermissions: (id) => findClientPermissions(clients, db, id),
      findCustomer: (id) => findTokenCustomer(db, id),
    },
    lifetimes: {
      accessMs: config.accessTokenTtlS * 1000,
      idleMs: config.refreshTokenTtlS * 1000,
      absoluteMs: config.refreshTokenMaxS * 1000,
      graceMs: config.refreshGraceS * 1000,
    },
    restoredMs: restore.restoredAt,
    issuer: publicUrl,
    audiences: createAudiences(publicUrl, config.audience, config.mcp === 'on'),
  })
}

async function findTokenCustomer(db: Database, id: string): Promise<TokenCustomer | undefined> {
  const row = await findCustomer(db, id)
  return row && { no: row.no, suspended: row.suspended !== 0, ...principalMembersOf(row) }
}
