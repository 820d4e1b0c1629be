/** Stores the tokens that mail carries, for tests that read no mail. */
import type { App } from '../../src/app.ts'
import { insertMailToken, type MailTokenRow } from '../../src/identity/people/mail-tokens.ts'
import { INSTALLATION } from '../../src/identity/people/namespace.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { sql } from '../../src/platform/storage/sql.ts'

type TokenParts = Pick<MailTokenRow, 'purpose' | 'person' | 'revision' | 'body' | 'folded'>

const insert = ({ db }: Pick<App, 'db'>, parts: TokenParts): Promise<string> =>
  db.write((tx) =>
    insertMailToken(
      tx,
      systemRandom(),
      { resource: 'users', namespace: INSTALLATION.no, ...parts },
      Date.now(),
    ),
  )

/** Returns the revision of a person's credential. */
const revisionOf = async ({ db }: Pick<App, 'db'>, person: number): Promise<number> =>
  Number((await db.get(sql`SELECT revision FROM gh_people WHERE id = ${person}`))!.revision)

/** Returns the token of a password reset of a person. */
export async function resetTokenOf(app: Pick<App, 'db'>, person: number, folded: string) {
  const revision = await revisionOf(app, person)
  return insert(app, { purpose: 'password_reset', person, revision, body: null, folded })
}

/** Returns the token that gives a person another sign-in name. */
export async function usernameTokenOf(app: Pick<App, 'db'>, person: number, username: string) {
  const revision = await revisionOf(app, person)
  const body = JSON.stringify({ person, revision, username, session: null })
  return insert(app, { purpose: 'username', person, revision, body, folded: username })
}

/** Returns the token of a sign-up. */
export const signUpTokenOf = (app: Pick<App, 'db'>, name: string, email: string) =>
  insert(app, {
    purpose: 'sign_up',
    person: null,
    revision: null,
    body: JSON.stringify({ name, email }),
    folded: email,
  })
