/** The page on tokens: how people and applications obtain, refresh and end them. Pure. */
import { isTokenPath } from './code-examples.ts'
import { code, list, type Page, text } from './content.ts'
import { type OperationView, readDocument } from './openapi-reader.ts'
import { operationSection } from './operation-section.ts'
import type { PageContext } from './page-source.ts'

/** A browser opens this page: no program calls it. */
const CONSENT_PAGE = '/oauth/authorize'

export function tokensPage({ platform, base }: PageContext): Page {
  const { operations } = readDocument(platform)
  const isListed = ({ path }: OperationView) => isTokenPath(path) && path !== CONSENT_PAGE
  const query = 'response_type=code&client_id=…&redirect_uri=…&code_challenge=…'
  return {
    name: 'tokens',
    title: 'Tokens',
    group: 'Basics',
    summary: 'Sign in, OAuth 2.0, sessions and consents.',
    blocks: [
      text('A person or an application obtains an access token, and renews it.'),
      list(
        'A first-party page sends name and password to `POST /auth/login`.',
        `An application opens \`GET ${CONSENT_PAGE}\` in a browser, with PKCE (RFC 7636).`,
        'A server without a person uses the grant `client_credentials`.',
      ),
    ],
    aside: [
      code('The page of consent', `${base}${CONSENT_PAGE}?${query}&code_challenge_method=S256`),
    ],
    sections: operations.filter(isListed).map((operation) => operationSection(operation, base)),
  }
}
