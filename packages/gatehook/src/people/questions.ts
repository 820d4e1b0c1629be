/** What is asked about people: who signs in, whether they are still who they were. */
import type { Administration } from '../access/administration.ts'
import { type Actor, recordAudit } from '../audit/store.ts'
import { Failure } from '../kernel/failure.ts'
import type { Principal, Scope } from '../kernel/principal.ts'
import type { Reader, Tx } from '../storage/database.ts'
import { replacePassword } from './acts.ts'
import type { ActDeps } from './credential.ts'
import { refuseCommonPassword } from './password-policy.ts'
import { type ClaimsHook, type Person, personOf, refuseSuspended } from './person.ts'
import type { SignInClient } from './recognized-clients.ts'
import { hintName, type Judge } from './sign-in.ts'
import * as store from './store.ts'
import { invalidCredentials } from './username.ts'

export interface Questions {
  /**
   * Who a name and password prove. Throws `invalid_credentials`, `rate_limited`, `overloaded`,
   * `customer_suspended`.
   */
  signIn(username: string, password: string, client: SignInClient): Promise<Person>
  /**
   * In the transaction of what the person is given: the person, kept as it is until that ends.
   * Throws `invalid_credentials` where password, name, role or scopes changed since `signIn`.
   */
  confirm(tx: Tx, person: Pick<Person, 'id' | 'revision'>): Promise<Person>
  /** Undefined when gone or disabled; else with whether its customer is suspended. */
  person(
    reader: Reader,
    scope: Scope,
    subject: string,
  ): Promise<(Person & { readonly suspended: boolean }) | undefined>
  /** Throws as `signIn`. The person's other sessions end. */
  changeOwnPassword(
    principal: Principal,
    current: string,
    wanted: string,
    client: SignInClient,
    actor: Actor,
  ): Promise<void>
}

/** `acts` with what they need; `claims`: the service's hook. */
export function createQuestions(
  admin: Administration,
  acts: ActDeps,
  judge: Judge,
  claims: ClaimsHook | undefined,
): Questions {
  const { directory, hasher } = acts
  const { db } = admin
  const { resource } = directory
  const how = judging(db, resource)
  return {
    async signIn(username, password, client) {
      const account = await judge(how, username, password, client)
      refuseSuspended(account)
      const person = await personOf(db, account, directory, claims)
      if (!person) throw invalidCredentials()
      return person
    },
    async confirm(tx, { id, revision }) {
      const kept = await store.lockCredential(tx, resource, id)
      if (kept?.revision !== revision || kept.disabled !== 0) throw invalidCredentials()
      const person = await personOf(tx, kept, directory, claims)
      if (!person) throw invalidCredentials()
      return person
    },
    async person(reader, scope, subject) {
      const account = await store.findById(reader, resource, Number(subject))
      if (account?.disabled !== 0 || account.scope !== scope) return undefined
      const person = await personOf(reader, account, directory, claims)
      return person && { ...person, suspended: account.suspended !== 0 }
    },
    async changeOwnPassword({ subject, sessionId }, current, wanted, client, actor) {
      const id = Number(subject)
      const own = await store.findById(db, resource, id)
      if (!own) throw new Failure('forbidden')
      const { revision } = await judge(how, own.username, current, client)
      await refuseCommonPassword(wanted, own.username, '/new')
      const password = await hasher.hash(wanted, hintName('person', own.username))
      await db.write(async (tx) => {
        const kept = await store.lockCredential(tx, resource, id)
        if (kept?.revision !== revision) throw invalidCredentials()
        await replacePassword(tx, acts, kept, password, sessionId)
        await recordAudit(tx, { actor, action: 'person.password', target: subject }, admin)
      })
    },
  }
}

/** Passwords of people, for the judge. */
export const judging = (db: Administration['db'], resource: string) => ({
  realm: 'person' as const,
  find: (folded: string) => store.findByName(db, resource, folded),
})
