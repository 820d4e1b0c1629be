/** Assembles the cache of OAuth clients, and the documents that describe some of them (§16.4). */

import { readFileSync } from 'node:fs'
import { defaultPersonScopes } from '../declare/resources/scopes.ts'
import type { ServiceDefinition } from '../declare/resources/service.ts'
import { type ClientCache, createClientCache } from '../identity/oauth/client-cache.ts'
import type { DocumentHosts } from '../identity/oauth/client-document.ts'
import { createClientDocuments } from '../identity/oauth/client-documents.ts'
import type { RegistrationDeps } from '../identity/oauth/client-registration.ts'
import { createFetchBudget } from '../identity/oauth/fetch-budget.ts'
import { createKeySets, type KeySets } from '../identity/oauth/key-set.ts'
import type { RestoredAt } from '../identity/tokens/single-use.ts'
import { isLoopback } from '../kernel/address.ts'
import { createDocumentFetcher } from '../outbound/transport/fetch-document.ts'
import { createLazyTransport } from '../outbound/transport/lazy-transport.ts'
import type { Transport } from '../outbound/transport/transport.ts'
import { createLimiter } from '../protocol/quota/store.ts'
import type { Component, Foundation } from './foundation.ts'

interface ClientModule extends Component {
  /** Fetches documents, and sends the requests of own code. */
  readonly transport: Pick<Transport, 'guardedFetch'>
  readonly clients: ClientCache
  readonly readsDocuments: () => boolean
  readonly keySets: KeySets
  readonly restoredAt: RestoredAt
  readonly log: Foundation['log']
  readonly hasOpenid: boolean
  readonly registration: Pick<RegistrationDeps, 'mode' | 'limiter' | 'scopes'>
}

export function assembleClients(
  { config, db, clock, log, publicUrl, restore, release = '0' }: Foundation,
  service: ServiceDefinition,
): ClientModule {
  const ca = config.webhookCa === null ? undefined : readFileSync(config.webhookCa, 'utf8')
  const options = { clock, timeoutMs: config.webhookTimeoutMs, ca }
  const transport = createLazyTransport({ ...options, allowPrivate: config.webhookAllowPrivate })
  // An administrator names the hosts of issuers, which can be in the private network.
  const issuerTransport = createLazyTransport({ ...options, allowPrivate: true })
  const hosts = (): DocumentHosts =>
    config.clientDocuments ?? (isLoopback(new URL(publicUrl()).hostname) ? 'any' : 'off')
  const limiter = createLimiter(db, clock)
  const userAgent = `Gatehook/${release}`
  const fetchDocument = createDocumentFetcher({ send: transport.send, userAgent, clock })
  const fetchTrusted = createDocumentFetcher({ send: issuerTransport.send, userAgent, clock })
  const countFetch = createFetchBudget(limiter)
  const documents = createClientDocuments({
    hosts,
    fetchDocument,
    countFetch,
    clock,
    log,
  })
  const hasOpenid = config.openid === 'on'
  const documentScopes = service.documentScopes ?? defaultPersonScopes(service)
  return {
    transport,
    clients: createClientCache({ db, clock, documents, documentScopes, hasOpenid }),
    hasOpenid,
    keySets: createKeySets({ fetchDocument, fetchTrusted, countFetch, clock }),
    log,
    restoredAt: restore.restoredAt,
    readsDocuments: () => hosts() !== 'off',
    registration: { mode: config.clientRegistration, limiter, scopes: documentScopes },
    async stop() {
      transport.close()
      issuerTransport.close()
    },
  }
}
