/** Stores the tokens that mail carries, for tests that read no mail. */
import type { App } from '../../src/app.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { insertMailToken, type MailTokenRow } from '../../src/people/mail-tokens.ts'
import { INSTALLATION } from '../../src/people/namespace.ts'

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

/** Returns the token of a password reset of a person whose credential has its first revision. */
export const resetTokenOf = (app: Pick<App, 'db'>, person: number, folded: string) =>
  insert(app, { purpose: 'password_reset', person, revision: 1, body: null, folded })

/** Returns the token of a sign-up. */
export const signUpTokenOf = (app: Pick<App, 'db'>, name: string, email: string) =>
  insert(app, {
    purpose: 'sign_up',
    person: null,
    revision: null,
    body: JSON.stringify({ name, email }),
    folded: email,
  })
